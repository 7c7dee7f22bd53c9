// Raw tokens: numbers of 8, 16 or 32 bits, little-endian, without a header, as programs that tokenize text write them.
// FILE:uint16 are windows of as many tokens as the input wants, one after the other; FILE:uint16+1 the same windows,
// each begun one token later: the labels of a model that predicts the next token. Both have as many windows: those
// that have a token after their last.
#include <stdio.h>
#include <string.h>

#include "runtime/data/format.h"

static const struct {
  const char *name;
  dp_dtype dtype;
} types[] = {{"uint8", DP_UINT8}, {"uint16", DP_UINT16}, {"uint32", DP_UINT32}};

static dp_dtype type_of(const char *part, bool *shifted) {
  for (size_t i = 0; part && i < DP_COUNT(types); i++) {
    const size_t length = strlen(types[i].name);
    if (strncmp(part, types[i].name, length)) continue;
    *shifted = part[length] != 0;
    if (!*shifted || !strcmp(part + length, "+1")) return types[i].dtype;
  }
  return DP_NO_TYPE;
}

static bool recognise(const dp_data_file *file) {
  bool shifted;
  return !file->folder && type_of(file->part, &shifted);
}

static dp_status open_file(dp_data_file *file, dp_data *data) {
  bool shifted;
  int64_t window, extents[DP_MAX_RANK];
  data->dtype = type_of(file->part, &shifted);
  const size_t bytes = dp_type_bytes(data->dtype);
  int rank;
  if (!dp_data_wanted(file->request, extents, &rank, &window) || window < 1)
    return dp_fail(EX_DATAERR, "%s: tokens are for an input whose samples are sequences", file->path);
  if (file->bytes.size % bytes)
    return dp_fail(EX_DATAERR, "%s: its %llu bytes are no whole number of %s", file->path,
                   (unsigned long long)file->bytes.size, dp_type_name(data->dtype));
  const int64_t tokens = (int64_t)(file->bytes.size / bytes);
  if (tokens < window + 1)
    return dp_fail(EX_DATAERR, "%s: it has %lld tokens, but one sample and the token after it are %lld", file->path,
                   (long long)tokens, (long long)window + 1);
  data->rank = rank + 1;
  data->extents[0] = (tokens - 1) / window;
  memcpy(data->extents + 1, extents, (size_t)rank * sizeof *extents);
  const dp_dense dense = {shifted ? bytes : 0, (uint64_t)window * bytes, false};
  return dp_dense_open(file, &dense, data);
}

const dp_data_format dp_data_format_tokens = {
    .what = "a file of tokens",
    .has_parts = true,
    .recognise = recognise,
    .open = open_file,
    .read = dp_dense_read,
    .close = dp_dense_close,
};
