// BatchNormalization. With training_mode = 0: (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and
// variance from operands 3 and 4. With training_mode = 1: mean and variance are the batch's, the variance from centred
// squares; results 1 and 2 are the running buffers, old * momentum + new * (1 - momentum), where the variance is biased
// as in ONNX unless `unbiased`; results 3 and 4 are the mean and 1 / sqrt(variance + epsilon) for the gradient.
// Channels may be split, but this device must have all samples.
#ifndef T
#include "backends/cpu/reference/batch_normalization.h"

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

static double FN(unbiased)(double variance, double count) { return variance * count / (count > 1 ? count - 1 : 1); }

// Updates the running buffers after a batch of `count` elements with this mean and variance.
static void FN(update_running)(const dp_batch_normalization *b, int64_t c, double mean, double variance, double count) {
  const T *old_mean = b->mean, *old_variance = b->variance;
  T *running_mean = b->running_mean, *running_variance = b->running_variance;
  double kept = count > 0 ? b->momentum : 1;  // no samples: keep the buffers
  if (running_mean) running_mean[c] = (T)((double)old_mean[c] * kept + mean * (1 - kept));
  if (running_variance) running_variance[c] = (T)((double)old_variance[c] * kept + variance * (1 - kept));
}

static void FN(channel)(const dp_call *call, dp_channels e, const dp_sample_groups *groups,
                        const dp_batch_normalization *b, int64_t c) {
  const T *x = (const T *)call->in[0] + c * e.inner, *scale = call->in[1], *bias = call->in[2];
  const T *old_mean = b->mean, *old_variance = b->variance;
  T *y = (T *)call->out[0] + c * e.inner, *saved_mean = b->saved_mean, *saved_invstd = b->saved_invstd;
  T *first_mean = b->first_mean, *first_variance = b->first_variance;
  if (first_mean) first_mean[c] = 0;
  if (first_variance) first_variance[c] = 0;
  for (int64_t g = groups->lo; g < groups->hi; g++) {
    int64_t first, at = (g - groups->lo) * e.channels + c;
    e.samples = dp_sample_groups_rows(groups, g, &first);
    const int64_t skipped = first * e.channels * e.inner;
    double mean, variance, count = (double)(e.samples * e.inner);
    if (b->training)
      FN(statistics)(&e, x + skipped, &mean, &variance);
    else
      mean = (double)old_mean[c], variance = (double)old_variance[c];
    const double kept_variance = b->unbiased ? FN(unbiased)(variance, count) : variance;
    if (b->training) FN(update_running)(b, c, mean, kept_variance, count);
    const double invstd = 1 / sqrt(variance + b->epsilon);
    if (saved_mean) saved_mean[at] = (T)mean;
    if (saved_invstd) saved_invstd[at] = (T)invstd;
    FN(apply)(&e, x + skipped, mean, invstd * (double)scale[c], (double)bias[c], y + skipped);
    if (!e.samples || first + groups->first) continue;  // not the first sample's group
    if (first_mean) first_mean[c] = (T)mean;
    if (first_variance) first_variance[c] = (T)kept_variance;
  }
}
#undef T
#endif
