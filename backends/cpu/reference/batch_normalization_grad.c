// dp.BatchNormalizationGrad(x, scale, saved_mean, saved_invstd, dy) -> dx, dscale, dbias, through the batch's statistics;
// dbias = sum(dy), dscale = sum(dy * z), dx as in batch_normalization_channel.h.
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
#include "backends/cpu/reference/batch_normalization_channel.h"

static void FN(channel)(const dp_channels *e, int64_t c, const void *const *in, void *const results[3]) {
  const T *x = (const T *)in[0] + c * e->inner, *scale = in[1], *saved_mean = in[2], *saved_invstd = in[3];
  const T *dy = (const T *)in[4] + c * e->inner;
  T *dx = results[0], *dscale = results[1], *dbias = results[2];
  double mean = (double)saved_mean[c], invstd = (double)saved_invstd[c], sum, products;
  FN(gradient_sums)(e, x, dy, mean, invstd, &sum, &products);
  if (dscale) dscale[c] = (T)products;
  if (dbias) dbias[c] = (T)sum;
  if (dx) FN(gradient_apply)(e, x, dy, mean, invstd, (double)scale[c], sum, products, dx + c * e->inner);
}
#undef T
#endif
