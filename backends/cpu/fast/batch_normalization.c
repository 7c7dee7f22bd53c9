// BatchNormalization of float32 by vectors. A part is a range of channels, all of whose samples are on this device.
#include "backends/cpu/vector/batch_normalization.h"

#include "backends/cpu/fast/normalization.h"
#include "backends/cpu/fast/table.h"
#include "backends/cpu/reference/batch_normalization.h"

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_fast_table(spec, &dp_vector_batch_normalization_avx2, &dp_vector_batch_normalization_avx512, state);
}

// As in the reference kernel: without samples the buffers stay, and the kept variance is unbiased on request.
typedef struct {
  bool training, unbiased;
  double epsilon, kept;
} settings;

static settings settings_of(const dp_kernel_spec *spec, bool any_samples) {
  return (settings){.training = dp_node_int(spec->node, "training_mode", 0) != 0,
                    .unbiased = dp_node_int(spec->node, "unbiased", 0) != 0,
                    .epsilon = dp_node_float(spec->node, "epsilon", 1e-5),
                    .kept = any_samples ? dp_node_float(spec->node, "momentum", 0.9) : 1};
}

static void keep(float *running, const float *old, int64_t c, double kept, double value) {
  if (running) running[c] = (float)((double)old[c] * kept + value * (1 - kept));
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)scratch;
  const dp_vector_batch_normalization *vector = state;
  const dp_channels e = dp_channels_of(&spec->inputs[0].local);
  const dp_channel_rows rows = {e.samples, e.inner, e.channels * e.inner};
  const int64_t count = e.samples * e.inner;
  const settings s = settings_of(spec, count > 0);
  const double unbiased = s.unbiased && count > 1 ? (double)count / (double)(count - 1) : 1;
  const float *scale = in[1], *bias = in[2], *old_mean = in[3], *old_variance = in[4];
  float *results[5] = {NULL};
  for (int k = 0; k < 5; k++)
    if (dp_has_out(spec, k)) results[k] = out[k];
  int64_t lo, hi;
  dp_part_range(e.channels, part, parts, &lo, &hi);
  for (int64_t c = lo; c < hi; c++) {
    const float *x = (const float *)in[0] + c * e.inner;
    double mean = (double)old_mean[c], variance = (double)old_variance[c];
    if (s.training) {
      vector->statistics(&rows, x, &mean, &variance);
      keep(results[1], old_mean, c, s.kept, mean);
      keep(results[2], old_variance, c, s.kept, variance * unbiased);
    }
    const double invstd = 1 / sqrt(variance + s.epsilon);
    if (results[3]) results[3][c] = (float)mean;
    if (results[4]) results[4][c] = (float)invstd;
    vector->apply(&rows, x, mean, invstd * (double)scale[c], (double)bias[c], results[0] + c * e.inner);
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
    .prepare = prepare,
    .run = run,
};
