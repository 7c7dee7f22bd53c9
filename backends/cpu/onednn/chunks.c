// Runs a primitive over many samples in chunks. See chunks.h.
#include "backends/cpu/onednn/chunks.h"

#include <stdlib.h>

enum { MAX_DOUBLINGS = 6 };  // chunks of 1 to 64 samples

// The bytes of a chunk's x and y, unless the weights have more. Measured to be the best size, or within 5 % of it.
static const int64_t chunk_bytes = 4 << 20;

struct dp_chunks {
  int64_t samples, x_sample, y_sample;          // the latter in bytes
  int doublings;                                // the largest chunk has 1 << doublings samples
  dp_primitive *primitives[MAX_DOUBLINGS + 1];  // for 2^i samples; NULL when not needed
};

// The largest chunk. It is the same for any number of samples and any split of the channels, because the scratch
// declared for the largest shard must suffice for all.
static int doublings_of(const dp_primitive_spec *p) {
  const int64_t each = dp_primitive_element_bytes(p), sample = p->whole_sample * each,
                weights = p->whole_weights * each;
  int i = 0;
  while (i < MAX_DOUBLINGS && ((sample << (i + 1)) <= dp_max_i64(chunk_bytes, weights) || (1 << i) < p->threads)) i++;
  return i;
}

static dp_primitive_spec chunk_spec(const dp_primitive_spec *p, int doublings) {
  dp_primitive_spec chunk = *p;
  chunk.samples = (int64_t)1 << doublings;
  return chunk;
}

bool dp_chunks_exist(const dp_primitive_spec *primitive) {
  const int last = primitive->bf16 ? doublings_of(primitive) : 0;
  bool found = true;
  for (int i = 0; found && i <= last && ((int64_t)1 << i) <= primitive->samples; i++) {
    uint64_t bytes;
    dp_primitive_spec chunk = chunk_spec(primitive, i);
    dp_status status = dp_primitive_scratch_bytes(&chunk, &bytes);
    found = !status;
    dp_status_free(status);
  }
  return found;
}

uint64_t dp_chunks_scratch_bytes(const dp_primitive_spec *primitive) {
  uint64_t most = 0;
  int last = doublings_of(primitive);
  for (int i = 0; i <= last && ((int64_t)1 << i) <= primitive->samples; i++) {
    uint64_t bytes = 0;
    dp_primitive_spec chunk = chunk_spec(primitive, i);
    dp_status_free(dp_primitive_scratch_bytes(&chunk, &bytes));  // prepare reports a primitive that cannot be made
    if (bytes > most) most = bytes;
  }
  return most;
}

uint64_t dp_chunks_packed_bytes(const dp_primitive_spec *primitive) {
  const dp_primitive_spec one = chunk_spec(primitive, 0);
  const int last = doublings_of(primitive);
  uint64_t bytes = 0;
  bool alike = true;
  dp_status status = dp_primitive_packed_bytes(&one, &bytes);
  for (int i = 1; !status && alike && bytes && i <= last && ((int64_t)1 << i) <= primitive->samples; i++) {
    const dp_primitive_spec chunk = chunk_spec(primitive, i);
    status = dp_primitive_packs_alike(&one, &chunk, &alike);
  }
  const bool known = !status && alike;
  dp_status_free(status);  // prepare reports a primitive that cannot be made
  return known ? bytes : 0;
}

dp_status dp_chunks_create(const dp_primitive_spec *primitive, dp_chunks **result) {
  dp_chunks *c = calloc(1, sizeof *c);
  if (!c) return dp_fail(DP_EX_MEMORY, "out of memory");
  c->samples = primitive->samples;
  c->x_sample = dp_primitive_step(primitive, true) * dp_primitive_element_bytes(primitive);
  c->y_sample = dp_primitive_step(primitive, false) * dp_primitive_element_bytes(primitive);
  c->doublings = doublings_of(primitive);
  for (int i = 0; i <= c->doublings; i++) {
    bool needed = i == c->doublings ? c->samples >> i != 0 : (c->samples >> i & 1) != 0;
    if (!needed) continue;
    dp_primitive_spec chunk = chunk_spec(primitive, i);
    dp_status status = dp_primitive_create(&chunk, &c->primitives[i]);
    if (status) {
      dp_chunks_destroy(c);
      return status;
    }
  }
  *result = c;
  return DP_OK;
}

void dp_chunks_destroy(dp_chunks *c) {
  for (int i = 0; c && i <= MAX_DOUBLINGS; i++) dp_primitive_destroy(c->primitives[i]);
  free(c);
}

dp_status dp_chunks_pack(const dp_chunks *c, const void *w, void *packed, void *scratch) {
  int i = c->doublings;
  while (i && !c->primitives[i]) i--;
  return dp_primitive_pack(c->primitives[i], w, packed, scratch);
}

dp_status dp_chunks_run(const dp_chunks *c, const dp_primitive_data *data, void *scratch) {
  int64_t at = 0;
  for (int i = c->doublings; i >= 0; i--)
    for (bool again = false; c->samples - at >= (int64_t)1 << i; again = true) {
      dp_primitive_data d = *data;
      d.x = (const char *)data->x + at * c->x_sample;
      d.y = (const char *)data->y + at * c->y_sample;
      DP_TRY(dp_primitive_run(c->primitives[i], &d, scratch, at > 0, again));
      at += (int64_t)1 << i;
    }
  return DP_OK;
}
