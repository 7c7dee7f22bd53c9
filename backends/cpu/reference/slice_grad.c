// dp.SliceGrad: zeros, except for dY where Slice took its elements. A part is a range of rows of the result.
#ifndef T
#include "backends/base/slice_walk.h"
#include "backends/cpu/reference/strided_rows.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  dp_strided_rows w;
  const dp_dtype dtype = spec->inputs[0].dtype;
  const int64_t bytes = (int64_t)dp_type_bytes(dtype), count = dp_out_count(spec, 0);
  DP_TRY(dp_slice_walk_make(spec->node, &spec->outputs[0].local, &spec->inputs[0].local, &w));
  if (count == 0) return DP_OK;
  const int rank = spec->outputs[0].local.rank;
  const int64_t length = rank ? dp_out_extents(spec, 0)[rank - 1] : 1;
  int64_t lo, hi;
  dp_part_range(count / length, part, parts, &lo, &hi);
  dp_zero((char *)out[0] + lo * length * bytes, (hi - lo) * length * bytes);
  if (dp_in_count(spec, 0) == 0) return DP_OK;
  const int64_t rows = dp_in_count(spec, 0) / w.extents[w.rank - 1];
  if (dtype == DP_FLOAT32)
    put_rows_float(&w, in[0], out[0], rows, lo * length, hi * length);
  else
    put_rows_double(&w, in[0], out[0], rows, lo * length, hi * length);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_SliceGrad = {
    .name = "cpu.reference.dp.SliceGrad",
    .op = "SliceGrad",
    .domain = "dp",
    .parts = true,
    .run = run,
};

#else

// Those of the rows that belong between the elements `lo` and `hi` of dX.
static void FN(put_rows)(const dp_strided_rows *w, const T *dy, T *dx, int64_t rows, int64_t lo, int64_t hi) {
  const int64_t inner = w->extents[w->rank - 1], stride = w->strides[w->rank - 1];
  for (int64_t row = 0; row < rows; row++) {
    const int64_t at = dp_strided_rows_at(w, row);
    if (at < lo || at >= hi) continue;
    for (int64_t i = 0; i < inner; i++) dx[at + i * stride] = dy[row * inner + i];
  }
}
#undef T
#endif
