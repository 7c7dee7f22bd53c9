// dp.SliceGrad: zeros, except for dY where Slice took its elements.
#ifndef T
#include "backends/base/slice_walk.h"
#include "backends/cpu/reference/strided_rows.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch, (void)part, (void)parts;
  dp_strided_rows w;
  dp_dtype dtype = spec->inputs[0].dtype;
  DP_TRY(dp_slice_walk_make(spec->node, &spec->outputs[0].local, &spec->inputs[0].local, &w));
  dp_zero(out[0], dp_out_count(spec, 0) * (int64_t)dp_type_bytes(dtype));
  if (dp_in_count(spec, 0) == 0) return DP_OK;
  int64_t rows = dp_in_count(spec, 0) / w.extents[w.rank - 1];
  if (dtype == DP_FLOAT32)
    put_rows_float(&w, in[0], out[0], rows);
  else
    put_rows_double(&w, in[0], out[0], rows);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_SliceGrad = {
    .name = "cpu.reference.dp.SliceGrad",
    .op = "SliceGrad",
    .domain = "dp",
    .run = run,
};

#else

static void FN(put_rows)(const dp_strided_rows *w, const T *dy, T *dx, int64_t rows) {
  int64_t inner = w->extents[w->rank - 1], stride = w->strides[w->rank - 1];
  for (int64_t row = 0; row < rows; row++) {
    T *to = dx + dp_strided_rows_at(w, row);
    for (int64_t i = 0; i < inner; i++) to[i * stride] = dy[row * inner + i];
  }
}
#undef T
#endif
