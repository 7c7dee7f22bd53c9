// dp.BatchNormalizationGrad(x, scale, saved_mean, saved_invstd, dy) -> dx, dscale, dbias, through the batch's statistics:
//
//   z = (x - mean) * invstd;  dbias = sum(dy);  dscale = sum(dy * z)
//   dx = scale * invstd * (dy - dbias / count - z * dscale / count)
#ifndef T
#include "backends/cpu/reference/batch_normalization.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  dp_channels extents = dp_channels_of(&spec->inputs[0].local);
  int64_t lo, hi;
  dp_part_range(extents.channels, part, parts, &lo, &hi);
  void *results[3] = {NULL, NULL, NULL};
  for (int i = 0; i < 3; i++)
    if (dp_has_out(spec, i)) results[i] = out[i];
  for (int64_t channel = lo; channel < hi; channel++) {
    if (spec->inputs[0].dtype == DP_FLOAT32)
      channel_float(&extents, channel, in, results);
    else
      channel_double(&extents, channel, in, results);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_dp_BatchNormalizationGrad = {
    .name = "cpu.reference.dp.BatchNormalizationGrad",
    .op = "BatchNormalizationGrad",
    .domain = "dp",
    .parts = true,
    .run = run,
};

#else

static void FN(channel)(const dp_channels *e, int64_t c, const void *const *in, void *const results[3]) {
  const T *x = (const T *)in[0] + c * e->inner, *scale = in[1], *saved_mean = in[2], *saved_invstd = in[3];
  const T *dy = (const T *)in[4] + c * e->inner;
  T *dx = results[0], *dscale = results[1], *dbias = results[2];
  double mean = (double)saved_mean[c], invstd = (double)saved_invstd[c], sum = 0, products = 0;
  int64_t step = e->channels * e->inner;
  for (int64_t n = 0; n < e->samples; n++)
    for (int64_t i = n * step; i < n * step + e->inner; i++) {
      sum += (double)dy[i];
      products += (double)dy[i] * ((double)x[i] - mean) * invstd;
    }
  if (dscale) dscale[c] = (T)products;
  if (dbias) dbias[c] = (T)sum;
  if (!dx) return;
  double count = (double)(e->samples * e->inner), factor = (double)scale[c] * invstd;
  for (int64_t n = 0; n < e->samples; n++)
    for (int64_t i = n * step; i < n * step + e->inner; i++) {
      double z = ((double)x[i] - mean) * invstd;
      dx[c * e->inner + i] = (T)(factor * ((double)dy[i] - sum / count - z * products / count));
    }
}
#undef T
#endif
