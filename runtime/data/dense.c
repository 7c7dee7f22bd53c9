// Samples that lie at equal distances in the file: those of IDX, .npy, CIFAR, tokens. See format.h.
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/data/format.h"

typedef struct {
  dp_bytes bytes;
  dp_dense dense;
} dense_state;

dp_status dp_dense_of(const dp_data_file *file, dp_bytes *bytes, const dp_dense *dense, dp_data *data) {
  dense_state *state = dp_alloc(file->arena, sizeof *state);
  *state = (dense_state){*bytes, *dense};
  *bytes = (dp_bytes){.fd = -1};
  data->state = state;
  return DP_OK;
}

dp_status dp_dense_open(dp_data_file *file, const dp_dense *dense, dp_data *data) {
  return dp_dense_of(file, &file->bytes, dense, data);
}

// The bytes that type and extents give. EX_DATAERR: the product overflows.
static dp_status count_bytes(const dp_data_file *file, const dp_data *data, uint64_t *bytes) {
  uint64_t whole = dp_type_bytes(data->dtype);
  *bytes = whole;
  for (int i = 0; i < data->rank; i++) {
    // Check the product without zero extents, which would hide its overflow.
    const uint64_t extent = (uint64_t)data->extents[i];
    if (data->extents[i] < 0 || __builtin_mul_overflow(whole, extent ? extent : 1, &whole) || whole > SIZE_MAX / 4)
      return dp_fail(EX_DATAERR, "%s: the header gives an impossible size", file->path);
    *bytes *= extent;
  }
  return DP_OK;
}

dp_status dp_dense_rest(dp_data_file *file, uint64_t at, bool big_endian, dp_data *data) {
  uint64_t promised;
  DP_TRY(count_bytes(file, data, &promised));
  const uint64_t found = file->bytes.size - at;
  if (found < promised)
    return dp_fail(EX_DATAERR, "%s: the file has %zu bytes of data, but its header promises %zu", file->path,
                   (size_t)found, (size_t)promised);
  if (found > promised)
    return dp_fail(EX_DATAERR, "%s: the file has more data than the %zu bytes that its header promises", file->path,
                   (size_t)promised);
  const dp_dense dense = {at, dp_data_sample_bytes(data), big_endian};
  return dp_dense_open(file, &dense, data);
}

static void swap_bytes(void *data, size_t count, size_t element_bytes) {
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

dp_status dp_dense_read(const dp_data *data, int64_t first, int64_t count, void *target) {
  const dense_state *s = data->state;
  const size_t bytes = dp_data_sample_bytes(data), element_bytes = dp_type_bytes(data->dtype);
  const uint64_t at = s->dense.at + (uint64_t)first * s->dense.stride;
  if (s->dense.stride == bytes) {
    DP_TRY(dp_bytes_read(&s->bytes, at, target, (size_t)count * bytes));
  } else {
    for (int64_t i = 0; i < count; i++)
      DP_TRY(dp_bytes_read(&s->bytes, at + (uint64_t)i * s->dense.stride, (char *)target + (size_t)i * bytes, bytes));
  }
  if (s->dense.big_endian) swap_bytes(target, (size_t)count * bytes / element_bytes, element_bytes);
  return DP_OK;
}

void dp_dense_close(dp_data *data) {
  dense_state *s = data->state;
  if (s) dp_bytes_close(&s->bytes);
  data->state = NULL;
}
