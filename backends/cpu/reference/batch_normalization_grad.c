// dp.BatchNormalizationGrad(x, scale, saved_mean, saved_invstd, dy) -> dx, dscale, dbias, with the statistics of the
// batch or of each group of samples: dbias = sum(dy), dscale = sum(dy * z), dx as in batch_normalization_channel.h.
#ifndef T
#include "backends/cpu/reference/batch_normalization.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

dp_status dp_batch_normalization_grad(const dp_call *call, const dp_sample_groups *groups) {
  const dp_kernel_spec *spec = call->spec;
  dp_channels extents = dp_channels_of(&spec->inputs[0].local);
  int64_t lo, hi;
  dp_part_range(extents.channels, call->part, call->parts, &lo, &hi);
  void *results[3] = {NULL, NULL, NULL};
  for (int i = 0; i < 3; i++)
    if (dp_has_out(spec, i)) results[i] = call->out[i];
  for (int64_t channel = lo; channel < hi; channel++) {
    if (spec->inputs[0].dtype == DP_FLOAT32)
      channel_float(extents, groups, channel, spec->inputs[1].dtype, call->in, results);
    else
      channel_double(extents, groups, channel, spec->inputs[1].dtype, call->in, results);
  }
  return DP_OK;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_sample_groups groups = dp_sample_groups_whole(&spec->inputs[0].local);
  return dp_batch_normalization_grad(&(dp_call){spec, in, out, scratch, part, parts}, &groups);
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

static void FN(channel)(dp_channels e, const dp_sample_groups *groups, int64_t c, dp_dtype dtype, const void *const *in,
                        void *const results[3]) {
  const T *x = (const T *)in[0] + c * e.inner, *dy = (const T *)in[4] + c * e.inner;
  const double scale = dp_of_channel(dtype, in[1], c);
  T *dx = results[0];
  double all = 0, all_products = 0;
  for (int64_t g = groups->lo; g < groups->hi; g++) {
    int64_t first, at = (g - groups->lo) * e.channels + c;
    e.samples = dp_sample_groups_rows(groups, g, &first);
    const int64_t skipped = first * e.channels * e.inner;
    double mean = dp_of_channel(dtype, in[2], at), invstd = dp_of_channel(dtype, in[3], at), sum, products;
    FN(gradient_sums)(&e, x + skipped, dy + skipped, mean, invstd, &sum, &products);
    all += sum;
    all_products += products;
    if (!dx) continue;
    FN(gradient_apply)
    (&e, x + skipped, dy + skipped, mean, invstd, scale, sum, products, dx + c * e.inner + skipped);
  }
  dp_of_channel_set(dtype, results[1], c, all_products);
  dp_of_channel_set(dtype, results[2], c, all);
}
#undef T
#endif
