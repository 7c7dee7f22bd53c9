// dp.BatchNormalizationReluGrad(x, scale, bias, saved_mean, saved_invstd, dy) -> dx, dscale, dbias, y, with y =
// Relu((x - mean) * scale * invstd + bias): what dp.BatchNormalizationGrad gives for dy where y is not 0 or less.
#ifndef T
#include "backends/cpu/reference/batch_normalization.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  const dp_channels extents = dp_channels_of(&spec->inputs[0].local);
  int64_t lo, hi;
  dp_part_range(extents.channels, part, parts, &lo, &hi);
  void *results[4] = {NULL, NULL, NULL, NULL};
  for (int i = 0; i < 4; i++)
    if (dp_has_out(spec, i)) results[i] = out[i];
  for (int64_t channel = lo; channel < hi; channel++) {
    if (spec->inputs[0].dtype == DP_FLOAT32)
      channel_float(extents, channel, spec->inputs[1].dtype, in, results);
    else
      channel_double(extents, channel, spec->inputs[1].dtype, in, results);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_dp_BatchNormalizationReluGrad = {
    .name = "cpu.reference.dp.BatchNormalizationReluGrad",
    .op = "BatchNormalizationReluGrad",
    .domain = "dp",
    .parts = true,
    .run = run,
};

#else

// Executes a statement for each element of the channel: at is its index, y Relu's result, given what it lets through.
#define EACH(e, c)                                                                                   \
  for (int64_t n_ = 0; n_ < (e).samples; n_++)                                                       \
    for (int64_t i_ = 0, at = (n_ * (e).channels + (c)) * (e).inner; i_ < (e).inner; i_++, at++)     \
      for (T line = (T)(((double)x[at] - mean) * (scale * invstd) + bias), y = line <= 0 ? 0 : line, \
             given = line <= 0 ? 0 : dy[at], *once = &given;                                         \
           once; once = NULL)

static void FN(channel)(dp_channels e, int64_t c, dp_dtype dtype, const void *const *in, void *const results[4]) {
  const T *x = in[0], *dy = in[5];
  const double scale = dp_of_channel(dtype, in[1], c), bias = dp_of_channel(dtype, in[2], c);
  const double mean = dp_of_channel(dtype, in[3], c), invstd = dp_of_channel(dtype, in[4], c);
  const double count = (double)(e.samples * e.inner);
  double sum = 0, products = 0;
  T *dx = results[0], *again = results[3];
  EACH(e, c) {
    sum += (double)given;
    products += (double)given * ((double)x[at] - mean) * invstd;
    if (again) again[at] = y;
  }
  EACH(e, c) {
    const double z = ((double)x[at] - mean) * invstd;
    (void)y;
    if (dx) dx[at] = (T)(scale * invstd * ((double)given - sum / count - z * products / count));
  }
  dp_of_channel_set(dtype, results[1], c, products);
  dp_of_channel_set(dtype, results[2], c, sum);
}
#undef EACH
#undef T
#endif
