// Copies strided rows. See strided_rows.h.
#ifndef T
#include "backends/cpu/reference/strided_rows.h"

#define T uint8_t
#include __FILE__
#define T uint16_t
#include __FILE__
#define T uint32_t
#include __FILE__
#define T uint64_t
#include __FILE__

dp_status dp_strided_rows_copy(const dp_call *call, const dp_strided_rows *rows) {
  int64_t lo, hi, count = dp_out_count(call->spec, 0);
  const void *x = call->in[0];
  void *y = call->out[0];
  if (count == 0) return DP_OK;
  dp_part_range(count / rows->extents[rows->rank - 1], call->part, call->parts, &lo, &hi);
  switch (dp_type_bytes(call->spec->inputs[0].dtype)) {
    case 1:
      copy_rows_uint8_t(rows, x, y, lo, hi);
      break;
    case 2:
      copy_rows_uint16_t(rows, x, y, lo, hi);
      break;
    case 4:
      copy_rows_uint32_t(rows, x, y, lo, hi);
      break;
    default:
      copy_rows_uint64_t(rows, x, y, lo, hi);
      break;
  }
  return DP_OK;
}

#else

static void FN(copy_rows)(const dp_strided_rows *r, const T *x, T *y, int64_t lo, int64_t hi) {
  int64_t inner = r->extents[r->rank - 1], stride = r->strides[r->rank - 1];
  for (int64_t row = lo; row < hi; row++) {
    const T *from = x + dp_strided_rows_at(r, row);
    for (int64_t i = 0; i < inner; i++) y[row * inner + i] = from[i * stride];
  }
}
#undef T
#endif
