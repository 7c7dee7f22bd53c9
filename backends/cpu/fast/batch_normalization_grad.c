// dp.BatchNormalizationGrad of float32 by vectors. A part is a range of channels, all of whose samples are on this
// device.
#include "backends/cpu/fast/normalization.h"
#include "backends/cpu/fast/table.h"
#include "backends/cpu/reference/batch_normalization.h"
#include "backends/cpu/vector/batch_normalization.h"

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_fast_table(spec, &dp_vector_batch_normalization_avx2, &dp_vector_batch_normalization_avx512, state);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)scratch;
  const dp_vector_batch_normalization *vector = state;
  const dp_channels e = dp_channels_of(&spec->inputs[0].local);
  const dp_channel_rows rows = {e.samples, e.inner, e.channels * e.inner};
  const float *scale = in[1], *mean = in[2], *invstd = in[3];
  float *dx = dp_has_out(spec, 0) ? out[0] : NULL, *dscale = dp_has_out(spec, 1) ? out[1] : NULL,
        *dbias = dp_has_out(spec, 2) ? out[2] : NULL;
  int64_t lo, hi;
  dp_part_range(e.channels, part, parts, &lo, &hi);
  for (int64_t c = lo; c < hi; c++) {
    const float *x = (const float *)in[0] + c * e.inner, *dy = (const float *)in[4] + c * e.inner;
    double sum, products;
    vector->gradient_sums(&rows, x, dy, (double)mean[c], (double)invstd[c], &sum, &products);
    if (dscale) dscale[c] = (float)products;
    if (dbias) dbias[c] = (float)sum;
    if (dx)
      vector->gradient(&rows, x, dy, (double)mean[c], (double)invstd[c], (double)scale[c], sum, products,
                       dx + c * e.inner);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_fast_dp_BatchNormalizationGrad = {
    .name = "cpu.fast.dp.BatchNormalizationGrad",
    .op = "BatchNormalizationGrad",
    .domain = "dp",
    .priority = 5,
    .library = true,
    .parts = true,
    .isa = true,
    .shares_state = true,
    .match = dp_fast_normalization_match,
    .prepare = prepare,
    .run = run,
};
