// See parts.h.
#include "backends/cpu/onednn/parts.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/chunks.h"
#include "backends/cpu/onednn/division.h"
#include "ir/base/tsan.h"

typedef struct {
  dp_chunks *whole;       // its samples, or its channels of all samples; NULL: none
  dp_share share;         // of each sample that is divided, or of all
  dp_primitive *divided;  // computes the share; NULL: there is none
  uint64_t packed;        // the byte of all packed weights at which those of the share begin
} part_state;

struct dp_parts {
  dp_primitive_spec spec;
  dp_division division;
  bool by_channels;        // each part computes some of all samples
  int64_t whole, divided;  // else samples of each part, and those that all parts share
  uint64_t scratch_bytes;  // of a part
  part_state *of;
};

// A gradient of weights is a sum over all samples, which oneDNN's own threads compute.
static int count_of(const dp_primitive_spec *p) { return p->kind == DP_PRIMITIVE_CONV_GRAD_WEIGHT ? 1 : p->threads; }

// `samples` whole ones, as one part computes them.
static dp_primitive_spec whole_spec(const dp_primitive_spec *p, int64_t samples) {
  dp_primitive_spec whole = *p;
  whole.samples = samples;
  if (count_of(p) > 1) whole.threads = 1;
  return whole;
}

// The next part from *part on with a share that is not computed as the last one was.
static bool next_share(const dp_primitive_spec *p, const dp_division *d, int *part, dp_share *share) {
  const dp_primitive_spec last = share->spec;
  const bool first = *part == 0;
  for (; *part < d->parts; ++*part)
    if (dp_division_share(p, d, *part, share) && (first || memcmp(&share->spec, &last, sizeof last))) break;
  return (*part)++ < d->parts;
}

// ---- what is needed -------------------------------------------------------------------------------------------------

static void take_larger(uint64_t bytes, uint64_t *most) {
  if (bytes > *most) *most = bytes;
}

// The most scratch of a part with some channels of all samples, of as many as are computed so.
static bool find_scratch_of_channels(const dp_primitive_spec *p, int parts, uint64_t *most) {
  dp_primitive_spec some = *p;
  some.samples = dp_min_i64(p->samples, dp_division_most_by_channels(p, parts));
  dp_primitive_spec last = {0};
  dp_share share;
  for (int i = 0; some.samples && i < parts; i++) {
    if (!dp_division_channels(&some, i, parts, &share) || !memcmp(&share.spec, &last, sizeof last)) continue;
    last = share.spec;
    if (!dp_chunks_exist(&last)) return false;
    take_larger(dp_chunks_scratch_bytes(&share.spec), most);
  }
  return true;
}

// The most scratch of a part; false: there is no primitive.
static bool find_scratch(const dp_primitive_spec *p, uint64_t *most) {
  const int parts = count_of(p);
  *most = 0;
  if (!find_scratch_of_channels(p, parts, most)) return false;
  *most = dp_align_up(*most, DP_CPU_ALIGNMENT);
  if (p->samples <= dp_division_most_by_channels(p, parts)) return true;
  if (p->samples >= parts) {
    const dp_primitive_spec whole = whole_spec(p, p->samples / parts);
    if (!dp_chunks_exist(&whole)) return false;
    take_larger(dp_chunks_scratch_bytes(&whole), most);
  }
  const dp_division division = dp_division_of(p, parts);
  dp_share share = {0};
  for (int i = 0; parts > 1 && next_share(p, &division, &i, &share);) {
    uint64_t bytes;
    dp_status status = dp_primitive_scratch_bytes(&share.spec, &bytes);
    const bool found = !status;
    dp_status_free(status);
    if (!found) return false;
    take_larger(bytes, most);
  }
  *most = dp_align_up(*most, DP_CPU_ALIGNMENT);
  return true;
}

// Of a whole sample. A share of its rows is copied in any layout.
static bool takes_blocks(const dp_primitive_spec *one) {
  bool takes;
  dp_status status = dp_primitive_takes_blocks(one, &takes);
  if (!status) return takes;
  dp_status_free(status);
  return false;
}

// In float32 oneDNN has a primitive for all samples and channels or for none.
bool dp_parts_exist(const dp_primitive_spec *p) {
  uint64_t bytes;
  if (p->bf16) return find_scratch(p, &bytes);
  const dp_primitive_spec one = whole_spec(p, 1);
  return takes_blocks(&one) && dp_chunks_exist(&one);
}

uint64_t dp_parts_scratch_bytes(const dp_primitive_spec *p) {
  uint64_t bytes;
  return find_scratch(p, &bytes) ? (uint64_t)count_of(p) * bytes : 0;
}

uint64_t dp_parts_packed_bytes(const dp_primitive_spec *p) {
  const int parts = count_of(p);
  const dp_primitive_spec one = whole_spec(p, 1), whole = whole_spec(p, dp_max_i64(p->samples / parts, 1));
  const uint64_t bytes = dp_chunks_packed_bytes(&whole);
  const dp_division division = dp_division_of(p, parts);
  bool alike = bytes > 0;
  dp_status status = DP_OK;
  dp_share share = {0};
  for (int i = 0; parts > 1 && !status && alike && next_share(p, &division, &i, &share);) {
    uint64_t at;
    status = dp_primitive_packed_part(&one, &share.spec, share.bias, &alike, &at);
  }
  const bool known = !status && alike;
  dp_status_free(status);  // prepare reports a primitive that cannot be made
  return known ? bytes : 0;
}

// ---- making ---------------------------------------------------------------------------------------------------------

static dp_status prepare_share(dp_parts *made, int part) {
  part_state *s = &made->of[part];
  if (!dp_division_share(&made->spec, &made->division, part, &s->share)) return DP_OK;
  DP_TRY(dp_primitive_create(&s->share.spec, &s->divided));
  if (!made->spec.packed) return DP_OK;
  const dp_primitive_spec one = whole_spec(&made->spec, 1);
  bool alike;
  DP_TRY(dp_primitive_packed_part(&one, &s->share.spec, s->share.bias, &alike, &s->packed));
  return alike ? DP_OK : dp_fail(EX_SOFTWARE, "a part of a convolution takes packed weights that are not there");
}

static dp_status prepare_channels(dp_parts *made, int parts) {
  for (int i = 0; i < parts; i++) {
    part_state *s = &made->of[i];
    if (dp_division_channels(&made->spec, i, parts, &s->share)) DP_TRY(dp_chunks_create(&s->share.spec, &s->whole));
  }
  return DP_OK;
}

static dp_status prepare(dp_parts *made, const dp_primitive_spec *p) {
  const int parts = count_of(p);
  made->spec = *p;
  made->division = dp_division_of(p, parts);
  made->by_channels = p->samples <= dp_division_most_by_channels(p, parts);
  made->whole = p->samples / parts;
  made->divided = p->samples % parts;
  made->scratch_bytes = dp_parts_scratch_bytes(p) / (uint64_t)parts;
  made->of = calloc((size_t)parts, sizeof *made->of);
  if (!made->of) return dp_fail(DP_EX_MEMORY, "out of memory");
  if (made->by_channels) return prepare_channels(made, parts);
  const dp_primitive_spec whole = whole_spec(p, made->whole);
  for (int i = 0; i < parts; i++) {
    if (made->whole) DP_TRY(dp_chunks_create(&whole, &made->of[i].whole));
    if (made->divided) DP_TRY(prepare_share(made, i));
  }
  return DP_OK;
}

dp_status dp_parts_create(const dp_primitive_spec *primitive, dp_parts **result) {
  dp_parts *made = calloc(1, sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "out of memory");
  dp_status status = prepare(made, primitive);
  if (status)
    dp_parts_destroy(made);
  else
    *result = made;
  return status;
}

void dp_parts_destroy(dp_parts *p) {
  for (int i = 0; p && p->of && i < p->division.parts; i++) {
    dp_chunks_destroy(p->of[i].whole);
    dp_primitive_destroy(p->of[i].divided);
  }
  if (p) free(p->of);
  free(p);
}

// ---- running --------------------------------------------------------------------------------------------------------

static const void *move(const void *at, int64_t elements, int64_t element_bytes) {
  return at ? (const char *)at + elements * element_bytes : NULL;
}

// The data of the share of sample `sample`.
static dp_primitive_data data_of(const dp_parts *p, const part_state *s, const dp_primitive_data *all, int64_t sample) {
  const int64_t bytes = dp_primitive_element_bytes(&p->spec);
  return (dp_primitive_data){
      .x = move(all->x, sample * dp_primitive_sample(&p->spec, true) + s->share.x, bytes),
      .w = p->spec.packed ? move(all->w, (int64_t)s->packed, 1) : move(all->w, s->share.w, bytes),
      .bias = move(all->bias, s->share.bias, bytes),
      .y = move(all->y, sample * dp_primitive_sample(&p->spec, false) + s->share.y, bytes),
  };
}

dp_status dp_parts_pack(const dp_parts *p, const void *w, void *packed, void *scratch) {
  if (p->whole) return dp_chunks_pack(p->of[0].whole, w, packed, scratch);
  for (int i = 0; i < p->division.parts; i += p->division.rows) {
    const part_state *s = &p->of[i];
    const void *from = move(w, s->share.w, dp_primitive_element_bytes(&p->spec));
    if (s->divided) DP_TRY(dp_primitive_pack(s->divided, from, (char *)packed + s->packed, scratch));
  }
  return DP_OK;
}

// What oneDNN reads and writes of x or y from `at` on, for ThreadSanitizer; done: all that is computed there.
static void tell(const dp_parts *p, const dp_primitive_spec *done, bool of_x, const void *at) {
  const dp_primitive_spec *all = &p->spec;
  const int64_t bytes = dp_primitive_element_bytes(all), channels = of_x ? done->x_channels : done->y_channels;
  const int64_t block = dp_max_i64(1, of_x ? all->x_block : all->y_block);  // channels that lie together
  const int64_t plane = dp_primitive_sample(all, of_x) / (of_x ? all->x_channels : all->y_channels) * bytes,
                part = dp_primitive_sample(done, of_x) / channels * bytes;
  const bool written = of_x ? all->kind == DP_PRIMITIVE_CONV_GRAD_INPUT
                            : all->kind < DP_PRIMITIVE_CONV_GRAD_INPUT || all->kind >= DP_PRIMITIVE_AVERAGE_POOL;
  for (int64_t i = 0; i < done->samples; i++) {
    void *sample = (void *)(uintptr_t)move(at, i * dp_primitive_sample(all, of_x), bytes);
    if (written)
      dp_tsan_write_rows(sample, channels / block, (size_t)(part * block), (size_t)(plane * block));
    else
      dp_tsan_read_rows(sample, channels / block, (size_t)(part * block), (size_t)(plane * block));
  }
}

static dp_status run_channels(const dp_parts *p, const part_state *s, const dp_primitive_data *data, void *scratch) {
  const dp_primitive_data d = data_of(p, s, data, 0);
  if (!s->whole) return DP_OK;
  tell(p, &s->share.spec, true, d.x);
  tell(p, &s->share.spec, false, d.y);
  return dp_chunks_run(s->whole, &d, scratch);
}

static dp_status run_one(const dp_parts *p, const dp_primitive_data *data, void *scratch, int part) {
  const part_state *s = &p->of[part];
  void *mine = (char *)scratch + (uint64_t)part * p->scratch_bytes;
  if (p->by_channels) return run_channels(p, s, data, mine);
  if (s->whole) {
    const int64_t first = part * p->whole, bytes = dp_primitive_element_bytes(&p->spec);
    dp_primitive_data d = *data;
    d.x = move(data->x, first * dp_primitive_sample(&p->spec, true), bytes);
    d.y = move(data->y, first * dp_primitive_sample(&p->spec, false), bytes);
    const dp_primitive_spec done = whole_spec(&p->spec, p->whole);
    tell(p, &done, true, d.x);
    tell(p, &done, false, d.y);
    DP_TRY(dp_chunks_run(s->whole, &d, mine));
  }
  for (int64_t i = 0; s->divided && i < p->divided; i++) {
    const dp_primitive_data d = data_of(p, s, data, p->division.parts * p->whole + i);
    tell(p, &s->share.spec, true, d.x);
    tell(p, &s->share.spec, false, d.y);
    DP_TRY(dp_primitive_run(s->divided, &d, mine, false, i > 0));
  }
  return DP_OK;
}

dp_status dp_parts_run(const dp_parts *p, const dp_primitive_data *data, void *scratch, int thread, int threads) {
  for (int i = thread; i < p->division.parts; i += threads) DP_TRY(run_one(p, data, scratch, i));
  return DP_OK;
}
