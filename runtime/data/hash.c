// What data is, as one number: how a checkpoint knows it again. Up to 64 MiB all bytes count. Of more, that would take
// minutes before the first step: then the number of samples counts, and what is at about a thousand places that lie
// equally far from each other, the first and the last samples among them. What changes between these places is not
// seen. See data.h.
#include <stdlib.h>

#include "runtime/data/format.h"

enum {
  CHUNK = 1 << 20,       // bytes read at a time
  WHOLE = 64 << 20,      // the most bytes that all count
  RUN = 64 << 10,        // bytes at each place of larger data
  PLACES = WHOLE / RUN,  // at most
  PICTURES = 256,        // of so many pictures the contents count
};

// Adds samples [first, first + count) to a chain.
static dp_status add(const dp_data *data, int64_t first, int64_t count, char *buffer, uint64_t chain[2]) {
  DP_TRY(data->format->read(data, first, count, buffer));
  chain[0] = dp_hash64(chain, 2 * sizeof *chain);
  chain[1] = dp_hash64(buffer, (size_t)count * dp_data_sample_bytes(data));
  return DP_OK;
}

static dp_status add_all(const dp_data *data, int64_t at_once, char *buffer, uint64_t chain[2]) {
  const int64_t samples = dp_data_samples(data);
  for (int64_t first = 0; first < samples; first += at_once)
    DP_TRY(add(data, first, dp_min_i64(at_once, samples - first), buffer, chain));
  return DP_OK;
}

static dp_status add_places(const dp_data *data, int64_t at_once, int64_t places, char *buffer, uint64_t chain[2]) {
  const int64_t last = dp_data_samples(data) - at_once;
  chain[1] = (uint64_t)dp_data_samples(data);
  for (int64_t i = 0; i < places; i++) DP_TRY(add(data, dp_hash_place(i, places, last), at_once, buffer, chain));
  return DP_OK;
}

int64_t dp_hash_place(int64_t i, int64_t places, int64_t last) {
  return places < 2 ? 0 : (int64_t)((__int128)i * last / (places - 1));
}

static int64_t fitting(int64_t bytes, size_t sample) {
  return sample < (size_t)bytes ? bytes / (int64_t)(sample ? sample : 1) : 1;
}

dp_status dp_data_hash_samples(const dp_data *data, uint64_t *hash) {
  const size_t bytes = dp_data_sample_bytes(data);
  const bool whole = !bytes || (uint64_t)dp_data_samples(data) <= WHOLE / bytes;
  const int64_t at_once = fitting(whole ? CHUNK : RUN, bytes);
  const int64_t places = dp_max_i64(2, dp_min_i64(PLACES, WHOLE / (at_once * (int64_t)(bytes ? bytes : 1))));
  uint64_t chain[2] = {0};
  char *buffer = malloc((size_t)at_once * bytes + 1);
  if (!buffer) return dp_fail(DP_EX_MEMORY, "%s: no memory for its hash", data->name);
  dp_status status = whole || dp_data_samples(data) <= at_once ? add_all(data, at_once, buffer, chain)
                                                               : add_places(data, at_once, places, buffer, chain);
  free(buffer);
  *hash = dp_hash64(chain, sizeof chain);
  return status;
}

dp_status dp_data_hash(const dp_data *data, uint64_t *hash) {
  return data->format->hash ? data->format->hash(data, PICTURES, hash) : dp_data_hash_samples(data, hash);
}
