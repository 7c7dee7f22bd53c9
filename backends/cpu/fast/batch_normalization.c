// BatchNormalization of float32 by vectors.
#include "backends/cpu/fast/batch_normalization.h"

#include "backends/cpu/fast/normalization.h"

// The operands and results of a call, and how the running buffers are kept: as in the reference kernel, without samples
// they stay, and the kept variance is unbiased on request.
typedef struct {
  const float *scale, *bias, *old_mean, *old_variance;
  float *running_mean, *running_variance, *saved_mean, *saved_invstd;  // NULL: not wanted
  bool training;
  double epsilon, kept, unbiased;
} settings;

static float *result(const dp_call *call, int k) { return dp_has_out(call->spec, k) ? call->out[k] : NULL; }

static settings settings_of(const dp_call *call, int64_t count) {
  const dp_node *node = call->spec->node;
  const bool unbiased = dp_node_int(node, "unbiased", 0) != 0;
  return (settings){.scale = call->in[1],
                    .bias = call->in[2],
                    .old_mean = call->in[3],
                    .old_variance = call->in[4],
                    .running_mean = result(call, 1),
                    .running_variance = result(call, 2),
                    .saved_mean = result(call, 3),
                    .saved_invstd = result(call, 4),
                    .training = dp_node_int(node, "training_mode", 0) != 0,
                    .epsilon = dp_node_float(node, "epsilon", 1e-5),
                    .kept = count ? dp_node_float(node, "momentum", 0.9) : 1,
                    .unbiased = unbiased && count > 1 ? (double)count / (double)(count - 1) : 1};
}

static void keep(float *running, const float *old, int64_t c, double kept, double value) {
  if (running) running[c] = (float)((double)old[c] * kept + value * (1 - kept));
}

// Updates the buffers of channel c from its statistics; returns 1 / sqrt(variance + epsilon).
static double finish(const settings *s, int64_t c, double mean, double variance) {
  const double invstd = 1 / sqrt(variance + s->epsilon);
  if (s->training) keep(s->running_mean, s->old_mean, c, s->kept, mean);
  if (s->training) keep(s->running_variance, s->old_variance, c, s->kept, variance * s->unbiased);
  if (s->saved_mean) s->saved_mean[c] = (float)mean;
  if (s->saved_invstd) s->saved_invstd[c] = (float)invstd;
  return invstd;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const dp_vector_batch_normalization *vector = state;
  const dp_call call = {spec, in, out, scratch, part, parts};
  dp_fast_channels at = dp_fast_channels_of(&call);
  const settings s = settings_of(&call, at.rows.samples * at.rows.inner);
  while (dp_fast_channels_next(&at)) {
    const float *x = (const float *)in[0] + at.first * at.rows.inner;
    double mean[DP_VECTOR_CHANNELS], variance[DP_VECTOR_CHANNELS], factor[DP_VECTOR_CHANNELS],
        shift[DP_VECTOR_CHANNELS];
    if (s.training) vector->statistics(&at.rows, x, mean, variance);
    for (int64_t i = 0, c = at.first; i < at.rows.channels; i++, c++) {
      if (!s.training) mean[i] = (double)s.old_mean[c], variance[i] = (double)s.old_variance[c];
      factor[i] = finish(&s, c, mean[i], variance[i]) * (double)s.scale[c];
      shift[i] = (double)s.bias[c];
    }
    vector->apply(&at.rows, x, mean, factor, shift, (float *)out[0] + at.first * at.rows.inner);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_fast_BatchNormalization = {
    .name = "cpu.fast.BatchNormalization",
    .op = "BatchNormalization",
    .domain = "",
    .priority = 5,
    .library = true,
    .parts = true,
    .isa = true,
    .shares_state = true,
    .match = dp_fast_normalization_match,
    .prepare = dp_fast_batch_normalization_prepare,
    .run = run,
};
