// See pictures.h.
#include "runtime/data/pictures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_channels(int64_t extent) { return extent == 1 || extent == 3; }

static bool find_shape(const int64_t *extents, int rank, dp_picture_shape *shape) {
  if (rank == 2) {
    *shape = (dp_picture_shape){extents[0], extents[1], 1, false};
    return true;
  }
  if (rank != 3) return false;
  if (is_channels(extents[0]))
    *shape = (dp_picture_shape){extents[1], extents[2], (int)extents[0], true};
  else if (is_channels(extents[2]))
    *shape = (dp_picture_shape){extents[0], extents[1], (int)extents[2], false};
  else
    return false;
  return true;
}

dp_status dp_pictures_open(const dp_data_file *file, int64_t samples, dp_pictures *pictures, dp_data *data) {
  int64_t extents[DP_MAX_RANK], count;
  int rank;
  char text[256];
  if (!dp_data_wanted(file->request, extents, &rank, &count) || !find_shape(extents, rank, &pictures->shape))
    return dp_fail(EX_DATAERR,
                   "%s: it holds pictures, but the input is %s; pictures are for [N,C,H,W], [N,H,W,C] or [N,H,W], with "
                   "1 or 3 channels",
                   file->path, dp_type_print(file->request->input, text, sizeof text));
  data->dtype = DP_UINT8;
  data->rank = rank + 1;
  data->extents[0] = samples;
  memcpy(data->extents + 1, extents, (size_t)rank * sizeof *extents);
  return DP_OK;
}

dp_status dp_pictures_take(const char *name, int64_t sample, const dp_bytes *bytes, uint8_t **encoded) {
  if (bytes->size > DP_PICTURE_MAX_BYTES)
    return dp_fail(EX_DATAERR, "%s: record %lld: its %llu bytes are too many for a picture", name, (long long)sample,
                   (unsigned long long)bytes->size);
  uint8_t *block = malloc(bytes->size + 1);
  if (!block) return dp_fail(DP_EX_MEMORY, "%s: no memory for its %zu bytes", name, (size_t)bytes->size);
  dp_status status = dp_bytes_read(bytes, 0, block, bytes->size);
  if (status)
    free(block);
  else
    *encoded = block;
  return status;
}

static dp_status read_one(const dp_data *data, int64_t sample, uint8_t *target) {
  const dp_pictures *pictures = data->state;
  char name[DP_PICTURE_NAME];
  uint8_t *encoded = NULL;
  size_t bytes;
  DP_TRY(pictures->load(data, sample, name, &encoded, &bytes));
  dp_status status = dp_picture_decode(name, encoded, bytes, &pictures->shape, target);
  free(encoded);
  return dp_status_context(status, "record %lld", (long long)sample);
}

dp_status dp_pictures_read(const dp_data *data, int64_t first, int64_t count, void *target) {
  const size_t bytes = dp_data_sample_bytes(data);
  for (int64_t i = 0; i < count; i++) DP_TRY(read_one(data, first + i, (uint8_t *)target + (size_t)i * bytes));
  return DP_OK;
}

dp_status dp_pictures_check(const dp_data_file *file, const dp_data *data) {
  if (file->request->skip_broken || !data->extents[0]) return DP_OK;
  uint8_t *target = malloc(dp_data_sample_bytes(data));
  if (!target) return dp_fail(DP_EX_MEMORY, "%s: no memory for a picture", file->path);
  dp_status status = dp_pictures_read(data, 0, 1, target);
  free(target);
  return status;
}

// 0 of one that cannot be read.
static dp_status hash_content(const dp_data *data, int64_t sample, uint64_t *hash) {
  const dp_pictures *pictures = data->state;
  char name[DP_PICTURE_NAME];
  uint8_t *encoded = NULL;
  size_t bytes = 0;
  *hash = 0;
  dp_status status = pictures->load(data, sample, name, &encoded, &bytes);
  if (dp_status_code(status) == EX_DATAERR) {
    dp_status_free(status);
    return DP_OK;
  }
  if (!status) *hash = dp_hash64(encoded, bytes);
  free(encoded);
  return status;
}

dp_status dp_pictures_hash(const dp_data *data, int64_t contents, uint64_t *hash) {
  const int64_t samples = data->extents[0], places = dp_min_i64(samples, contents);
  uint64_t chain[2] = {*hash, 0};
  for (int64_t i = 0; i < places; i++) {
    chain[0] = dp_hash64(chain, sizeof chain);
    DP_TRY(hash_content(data, dp_hash_place(i, places, samples - 1), &chain[1]));
  }
  *hash = dp_hash64(chain, sizeof chain);
  return DP_OK;
}

bool dp_pictures_has_ending(const char *name) {
  static const char *const endings[] = {".jpg", ".jpeg", ".png"};
  const char *dot = strrchr(name, '.');
  for (size_t i = 0; dot && i < DP_COUNT(endings); i++)
    if (!strcasecmp(dot, endings[i])) return true;
  return false;
}
