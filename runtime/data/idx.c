// IDX, the format of MNIST: magic 0 0 type rank, big-endian u32 extents, big-endian data.
// http://yann.lecun.com/exdb/mnist (section "The IDX file format").
#include <endian.h>

#include "runtime/data/format.h"

static dp_dtype type_of(uint8_t code) {
  switch (code) {
    case 0x08:
      return DP_UINT8;
    case 0x09:
      return DP_INT8;
    case 0x0b:
      return DP_INT16;
    case 0x0c:
      return DP_INT32;
    case 0x0d:
      return DP_FLOAT32;
    case 0x0e:
      return DP_FLOAT64;
    default:
      return DP_NO_TYPE;
  }
}

static bool recognise(const dp_data_file *file) {
  return !file->folder && file->n_head >= 4 && !file->head[0] && !file->head[1];
}

static dp_status open_file(dp_data_file *file, dp_data *data) {
  const uint8_t *magic = file->head;
  data->dtype = type_of(magic[2]);
  data->rank = magic[3];
  if (!data->dtype) return dp_fail(EX_DATAERR, "%s: IDX type 0x%02x is not known", file->path, magic[2]);
  if (data->rank < 1 || data->rank > DP_MAX_RANK)
    return dp_fail(EX_DATAERR, "%s: IDX rank %d; 1 to %d are supported", file->path, data->rank, DP_MAX_RANK);
  uint64_t at = 4;
  for (int i = 0; i < data->rank; i++, at += 4) {
    uint32_t extent;
    DP_TRY(dp_bytes_header(&file->bytes, at, &extent, sizeof extent));
    data->extents[i] = be32toh(extent);
  }
  return dp_dense_rest(file, at, true, data);
}

const dp_data_format dp_data_format_idx = {
    .what = "an IDX file",
    .recognise = recognise,
    .open = open_file,
    .read = dp_dense_read,
    .close = dp_dense_close,
};
