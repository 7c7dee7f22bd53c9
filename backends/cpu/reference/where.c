// Where: X where the condition holds, else Y, broadcast. Any type, by its size.
#ifndef T
#include "backends/cpu/reference/broadcast.h"

#define T uint8_t
#include __FILE__
#define T uint16_t
#include __FILE__
#define T uint32_t
#include __FILE__
#define T uint64_t
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  dp_broadcast w = dp_broadcast_make(spec);
  int64_t lo, hi;
  if (dp_out_count(spec, 0) == 0) return DP_OK;
  dp_part_range(dp_out_count(spec, 0) / w.extents[w.rank - 1], part, parts, &lo, &hi);
  switch (dp_type_bytes(spec->inputs[1].dtype)) {
    case 1:
      choose_uint8_t(&w, in, out[0], lo, hi);
      break;
    case 2:
      choose_uint16_t(&w, in, out[0], lo, hi);
      break;
    case 4:
      choose_uint32_t(&w, in, out[0], lo, hi);
      break;
    default:
      choose_uint64_t(&w, in, out[0], lo, hi);
      break;
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Where = {
    .name = "cpu.reference.Where",
    .op = "Where",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};

#else

static void FN(choose)(const dp_broadcast *w, const void *const *in, T *out, int64_t lo, int64_t hi) {
  int64_t inner = w->extents[w->rank - 1], stride[3];
  for (int i = 0; i < 3; i++) stride[i] = w->strides[i][w->rank - 1];
  for (int64_t row = lo; row < hi; row++) {
    const bool *c = (const bool *)in[0] + dp_broadcast_row(w, 0, row);
    const T *x = (const T *)in[1] + dp_broadcast_row(w, 1, row), *y = (const T *)in[2] + dp_broadcast_row(w, 2, row);
    for (int64_t i = 0; i < inner; i++) out[row * inner + i] = c[i * stride[0]] ? x[i * stride[1]] : y[i * stride[2]];
  }
}
#undef T
#endif
