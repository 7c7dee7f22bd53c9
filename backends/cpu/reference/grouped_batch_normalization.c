// dp.GroupedBatchNormalization: every group of samples that is here normalised by its own mean and variance. Results 3 and 4,
// mean and variance of the group that holds the first sample, are 0 where it is not.
#ifndef T
#include "backends/cpu/reference/batch_normalization.h"

typedef struct {
  dp_channels extents;  // of all that is here
  dp_sample_groups groups;
  bool unbiased;
  double epsilon;
  const void *x, *scale, *bias;
  void *y, *saved_mean, *saved_invstd, *mean, *variance;  // the last two NULL: not asked for
} normalization;

#define T float
#include __FILE__
#define T double
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  normalization b = {
      .extents = dp_channels_of(&spec->inputs[0].local),
      .groups = dp_sample_groups_of(spec, &spec->outputs[1].local),
      .unbiased = dp_node_int(spec->node, "unbiased", 0) != 0,
      .epsilon = dp_node_float(spec->node, "epsilon", 1e-5),
      .x = in[0],
      .scale = in[1],
      .bias = in[2],
      .y = out[0],
      .saved_mean = out[1],
      .saved_invstd = out[2],
      .mean = dp_has_out(spec, 3) ? out[3] : NULL,
      .variance = dp_has_out(spec, 4) ? out[4] : NULL,
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

const dp_kernel dp_kernel_reference_dp_GroupedBatchNormalization = {
    .name = "cpu.reference.dp.GroupedBatchNormalization",
    .op = "GroupedBatchNormalization",
    .domain = "dp",
    .parts = true,
    .run = run,
};

#else
#include "backends/cpu/reference/batch_normalization_channel.h"

static void FN(normalize)(const normalization *b, int64_t c) {
  const T *x = (const T *)b->x + c * b->extents.inner, *scale = b->scale, *bias = b->bias;
  T *y = (T *)b->y + c * b->extents.inner, *saved_mean = b->saved_mean, *saved_invstd = b->saved_invstd;
  T *batch_mean = b->mean, *batch_variance = b->variance;
  dp_channels e = b->extents;
  if (batch_mean) batch_mean[c] = 0;
  if (batch_variance) batch_variance[c] = 0;
  for (int64_t g = b->groups.lo; g < b->groups.hi; g++) {
    int64_t first, at = (g - b->groups.lo) * e.channels + c;
    double mean, variance;
    e.samples = dp_sample_groups_rows(&b->groups, g, &first);
    const int64_t skipped = first * e.channels * e.inner;
    FN(statistics)(&e, x + skipped, &mean, &variance);
    double count = (double)(e.samples * e.inner), invstd = 1 / sqrt(variance + b->epsilon);
    saved_mean[at] = (T)mean;
    saved_invstd[at] = (T)invstd;
    FN(apply)(&e, x + skipped, mean, invstd * (double)scale[c], (double)bias[c], y + skipped);
    if (!e.samples || first + b->groups.first) continue;  // not the first sample's
    if (batch_mean) batch_mean[c] = (T)mean;
    if (batch_variance)
      batch_variance[c] = (T)(b->unbiased ? variance * count / (count > 1 ? count - 1 : 1) : variance);
  }
}
#undef T
#endif
