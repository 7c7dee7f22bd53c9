// IDX, the format of MNIST: magic 0 0 type rank, big-endian u32 extents, big-endian data.
// http://yann.lecun.com/exdb/mnist (section "The IDX file format").
#include <endian.h>
#include <string.h>

#include "runtime/data/source.h"

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

static void to_native(void *data, size_t count, size_t element_bytes) {
  for (size_t i = 0; i < count; i++) {
    char *element = (char *)data + i * element_bytes;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (element_bytes) {
      case 2:
        memcpy(&u16, element, 2), u16 = be16toh(u16), memcpy(element, &u16, 2);
        break;
      case 4:
        memcpy(&u32, element, 4), u32 = be32toh(u32), memcpy(element, &u32, 4);
        break;
      case 8:
        memcpy(&u64, element, 8), u64 = be64toh(u64), memcpy(element, &u64, 8);
        break;
      default:
        return;
    }
  }
}

dp_status dp_idx_read(dp_source *source, dp_arena *arena, const uint8_t magic[4], dp_tensor *tensor) {
  dp_tensor t = {.dtype = type_of(magic[2]), .rank = magic[3]};
  if (!t.dtype) return dp_fail(EX_DATAERR, "%s: IDX type 0x%02x is not known", source->path, magic[2]);
  if (t.rank < 1 || t.rank > DP_MAX_RANK)
    return dp_fail(EX_DATAERR, "%s: IDX rank %d; 1 to %d are supported", source->path, t.rank, DP_MAX_RANK);
  for (int i = 0; i < t.rank; i++) {
    uint32_t extent;
    DP_TRY(dp_source_exactly(source, &extent, sizeof extent));
    t.extents[i] = be32toh(extent);
  }
  DP_TRY(dp_source_size(source, &t));
  void *data;
  DP_TRY(dp_source_rest(source, arena, t.bytes, &data));
  size_t element_bytes = dp_type_bytes(t.dtype);
  to_native(data, t.bytes / element_bytes, element_bytes);
  t.data = data;
  *tensor = t;
  return DP_OK;
}
