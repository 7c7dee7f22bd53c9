// BatchNormalization. With training_mode = 0: (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and
// variance from operands 3 and 4. With training_mode = 1: mean and variance are the batch's, the variance from centred
// squares; results 1 and 2 are the running buffers, old * momentum + new * (1 - momentum), where the variance is biased
// as in ONNX unless `unbiased`; results 3 and 4 are the mean and 1 / sqrt(variance + epsilon) for the gradient.
// Channels may be split, but this device must have all samples.
#ifndef T
#include "backends/cpu/reference/batch_normalization.h"

static double unbiased(double variance, double count) { return variance * count / (count > 1 ? count - 1 : 1); }

static void keep(dp_dtype dtype, void *running, const void *old, int64_t c, double kept, double value) {
  if (running) dp_of_channel_set(dtype, running, c, dp_of_channel(dtype, old, c) * kept + value * (1 - kept));
}

// Updates the running buffers after a batch of `count` elements with this mean and variance.
static void update_running(const dp_batch_normalization *b, dp_dtype dtype, int64_t c, double mean, double variance,
                           double count) {
  const double kept = count > 0 ? b->momentum : 1;  // no samples: keep the buffers
  keep(dtype, b->running_mean, b->mean, c, kept, mean);
  keep(dtype, b->running_variance, b->variance, c, kept, variance);
}

#define T float
#include __FILE__
#define T double
#include __FILE__

dp_status dp_batch_normalization_run(const dp_call *call, const dp_sample_groups *groups,
                                     const dp_batch_normalization *b) {
  const dp_kernel_spec *spec = call->spec;
  const dp_channels extents = dp_channels_of(&spec->inputs[0].local);
  int64_t lo, hi;
  dp_part_range(extents.channels, call->part, call->parts, &lo, &hi);
  for (int64_t channel = lo; channel < hi; channel++) {
    if (spec->inputs[0].dtype == DP_FLOAT32)
      channel_float(call, extents, groups, b, channel);
    else
      channel_double(call, extents, groups, b, channel);
  }
  return DP_OK;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  const dp_sample_groups groups = dp_sample_groups_whole(&spec->inputs[0].local);
  const dp_batch_normalization b = {
      .training = dp_node_int(spec->node, "training_mode", 0) != 0,
      .unbiased = dp_node_int(spec->node, "unbiased", 0) != 0,
      .epsilon = dp_node_float(spec->node, "epsilon", 1e-5),
      .momentum = dp_node_float(spec->node, "momentum", 0.9),
      .mean = in[3],
      .variance = in[4],
      .running_mean = dp_has_out(spec, 1) ? out[1] : NULL,
      .running_variance = dp_has_out(spec, 2) ? out[2] : NULL,
      .saved_mean = dp_has_out(spec, 3) ? out[3] : NULL,
      .saved_invstd = dp_has_out(spec, 4) ? out[4] : NULL,
  };
  return dp_batch_normalization_run(&(dp_call){spec, in, out, scratch, part, parts}, &groups, &b);
}

const dp_kernel dp_kernel_reference_BatchNormalization = {
    .name = "cpu.reference.BatchNormalization",
    .op = "BatchNormalization",
    .domain = "",
    .parts = true,
    .run = run,
};

#else
#include "backends/cpu/reference/batch_normalization_channel.h"

static void FN(channel)(const dp_call *call, dp_channels e, const dp_sample_groups *groups,
                        const dp_batch_normalization *b, int64_t c) {
  const dp_dtype dtype = call->spec->inputs[1].dtype;
  const double scale = dp_of_channel(dtype, call->in[1], c), bias = dp_of_channel(dtype, call->in[2], c);
  const T *x = (const T *)call->in[0] + c * e.inner;
  T *y = (T *)call->out[0] + c * e.inner;
  dp_of_channel_set(dtype, b->first_mean, c, 0);
  dp_of_channel_set(dtype, b->first_variance, c, 0);
  for (int64_t g = groups->lo; g < groups->hi; g++) {
    int64_t first, at = (g - groups->lo) * e.channels + c;
    e.samples = dp_sample_groups_rows(groups, g, &first);
    const int64_t skipped = first * e.channels * e.inner;
    double mean, variance, count = (double)(e.samples * e.inner);
    if (b->training)
      FN(statistics)(&e, x + skipped, &mean, &variance);
    else
      mean = dp_of_channel(dtype, b->mean, c), variance = dp_of_channel(dtype, b->variance, c);
    const double kept_variance = b->unbiased ? unbiased(variance, count) : variance;
    if (b->training) update_running(b, dtype, c, mean, kept_variance, count);
    const double invstd = 1 / sqrt(variance + b->epsilon);
    dp_of_channel_set(dtype, b->saved_mean, at, mean);
    dp_of_channel_set(dtype, b->saved_invstd, at, invstd);
    FN(apply)(&e, x + skipped, mean, invstd * scale, bias, y + skipped);
    if (!e.samples || first + groups->first) continue;  // not the first sample's group
    dp_of_channel_set(dtype, b->first_mean, c, mean);
    dp_of_channel_set(dtype, b->first_variance, c, kept_variance);
  }
}
#undef T
#endif
