// Slice. Any type, by its size.
#ifndef T
#include "backends/cpu/reference/slice_walk.h"

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
  dp_slice_walk w;
  int64_t lo, hi;
  DP_TRY(dp_slice_walk_make(spec->node, &spec->inputs[0].local, &spec->outputs[0].local, &w));
  if (dp_out_count(spec, 0) == 0) return DP_OK;
  dp_part_range(dp_out_count(spec, 0) / w.extents[w.rank - 1], part, parts, &lo, &hi);
  switch (dp_type_bytes(spec->inputs[0].dtype)) {
    case 1:
      copy_rows_uint8_t(&w, in[0], out[0], lo, hi);
      break;
    case 2:
      copy_rows_uint16_t(&w, in[0], out[0], lo, hi);
      break;
    case 4:
      copy_rows_uint32_t(&w, in[0], out[0], lo, hi);
      break;
    default:
      copy_rows_uint64_t(&w, in[0], out[0], lo, hi);
      break;
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Slice = {
    .name = "cpu.reference.Slice",
    .op = "Slice",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};

#else

static void FN(copy_rows)(const dp_slice_walk *w, const T *x, T *y, int64_t lo, int64_t hi) {
  int64_t inner = w->extents[w->rank - 1], step = w->steps[w->rank - 1];
  for (int64_t row = lo; row < hi; row++) {
    const T *from = x + dp_slice_walk_row(w, row);
    for (int64_t i = 0; i < inner; i++) y[row * inner + i] = from[i * step];
  }
}
#undef T
#endif
