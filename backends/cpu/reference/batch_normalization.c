// BatchNormalization. With training_mode = 0: (x - mean) / sqrt(variance + epsilon) * scale + bias from operands 3 and 4.
// With training_mode = 1 mean and variance are those of the batch, the variance from centred squares; results 1 and 2 are the
// running buffers (old * momentum + new * (1 - momentum); the variance biased as ONNX says, unless `unbiased`), 3 and 4 the
// mean and 1 / sqrt(variance + epsilon) for the gradient. All samples must be here: channels may be split, samples not.
#ifndef T
#include "backends/cpu/reference/batch_normalization.h"

typedef struct {
  dp_channels extents;
  bool training, unbiased;
  double epsilon, momentum;
  const void *x, *scale, *bias, *mean, *variance;
  void *y, *running_mean, *running_variance, *saved_mean, *saved_invstd;  // NULL: not asked for
} normalization;

#define T float
#include __FILE__
#define T double
#include __FILE__

static void *result(const dp_kernel_spec *spec, void *const *out, int i) { return dp_has_out(spec, i) ? out[i] : NULL; }

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  normalization b = {
      .extents = dp_channels_of(&spec->inputs[0].local),
      .training = dp_node_int(spec->node, "training_mode", 0) != 0,
      .unbiased = dp_node_int(spec->node, "unbiased", 0) != 0,
      .epsilon = dp_node_float(spec->node, "epsilon", 1e-5),
      .momentum = dp_node_float(spec->node, "momentum", 0.9),
      .x = in[0],
      .scale = in[1],
      .bias = in[2],
      .mean = in[3],
      .variance = in[4],
      .y = out[0],
      .running_mean = result(spec, out, 1),
      .running_variance = result(spec, out, 2),
      .saved_mean = result(spec, out, 3),
      .saved_invstd = result(spec, out, 4),
  };
  int64_t lo, hi;
  dp_part_range(b.extents.channels, part, parts, &lo, &hi);
  for (int64_t channel = lo; channel < hi; channel++) {
    if (spec->inputs[0].dtype == DP_FLOAT32)
      normalize_float(&b, channel);
    else
      normalize_double(&b, channel);
  }
  return DP_OK;
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

static void FN(normalize)(const normalization *b, int64_t c) {
  const dp_channels *e = &b->extents;
  const T *x = (const T *)b->x + c * e->inner, *scale = b->scale, *bias = b->bias, *old_mean = b->mean,
          *old_variance = b->variance;
  T *y = (T *)b->y + c * e->inner, *running_mean = b->running_mean, *running_variance = b->running_variance;
  T *saved_mean = b->saved_mean, *saved_invstd = b->saved_invstd;
  double mean = (double)old_mean[c], variance = (double)old_variance[c], count = (double)(e->samples * e->inner);
  if (b->training) {
    FN(statistics)(e, x, &mean, &variance);
    double of_running = b->unbiased ? variance * count / (count > 1 ? count - 1 : 1) : variance;
    double kept = count > 0 ? b->momentum : 1;  // no samples, nothing learnt
    if (running_mean) running_mean[c] = (T)((double)old_mean[c] * kept + mean * (1 - kept));
    if (running_variance) running_variance[c] = (T)((double)old_variance[c] * kept + of_running * (1 - kept));
  }
  double invstd = 1 / sqrt(variance + b->epsilon);
  if (saved_mean) saved_mean[c] = (T)mean;
  if (saved_invstd) saved_invstd[c] = (T)invstd;
  FN(apply)(e, x, mean, invstd * (double)scale[c], (double)bias[c], y);
}
#undef T
#endif
