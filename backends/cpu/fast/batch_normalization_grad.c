// dp.BatchNormalizationGrad of float32 by vectors.
#include "backends/cpu/fast/batch_normalization.h"
#include "backends/cpu/fast/normalization.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const dp_vector_batch_normalization *vector = state;
  const float *scale = in[1], *saved_mean = in[2], *saved_invstd = in[3];
  float *dscale = dp_has_out(spec, 1) ? out[1] : NULL, *dbias = dp_has_out(spec, 2) ? out[2] : NULL;
  dp_fast_channels at = dp_fast_channels_of(&(dp_call){spec, in, out, scratch, part, parts});
  const double count = (double)(at.rows.samples * at.rows.inner);
  while (dp_fast_channels_next(&at)) {
    const int64_t first = at.first * at.rows.inner;
    const float *x = (const float *)in[0] + first, *dy = (const float *)in[4] + first;
    double mean[DP_VECTOR_CHANNELS], sum[DP_VECTOR_CHANNELS], products[DP_VECTOR_CHANNELS], factor[DP_VECTOR_CHANNELS];
    for (int64_t i = 0; i < at.rows.channels; i++) mean[i] = (double)saved_mean[at.first + i];
    vector->gradient_sums(&at.rows, x, dy, mean, sum, products);
    for (int64_t i = 0, c = at.first; i < at.rows.channels; i++, c++) {
      const double invstd = (double)saved_invstd[c], scaled = products[i] * invstd;
      if (dscale) dscale[c] = (float)scaled;
      if (dbias) dbias[c] = (float)sum[i];
      factor[i] = (double)scale[c] * invstd;
      sum[i] /= count;
      products[i] = scaled * invstd / count;
    }
    if (dp_has_out(spec, 0)) vector->gradient(&at.rows, x, dy, mean, factor, sum, products, (float *)out[0] + first);
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
    .prepare = dp_fast_batch_normalization_prepare,
    .run = run,
};
