// BatchNormalization and its gradient, on a tensor (N, C, ...) seen as samples x channels x inner elements.
#ifndef DP_BACKENDS_CPU_REFERENCE_BATCH_NORMALIZATION_H
#define DP_BACKENDS_CPU_REFERENCE_BATCH_NORMALIZATION_H

#include "backends/cpu/reference/reference.h"

typedef struct {
  int64_t samples, channels, inner;
} dp_channels;

static inline dp_channels dp_channels_of(const dp_local *x) {
  return (dp_channels){x->extents[0], x->rank > 1 ? x->extents[1] : 1, dp_product(x->extents, 2, x->rank)};
}

// The groups of samples on this device, for dp.GroupedBatchNormalization and its gradient; plain ones have one group.
typedef struct {
  int64_t count, samples, unit,
      first;       // number of groups; samples in the whole batch; rows of each; the first row on this device
  int64_t lo, hi;  // the groups on this device
} dp_sample_groups;

static inline dp_sample_groups dp_sample_groups_whole(const dp_local *x) {
  return (dp_sample_groups){.count = 1, .samples = x->extents[0], .unit = 1, .hi = 1};
}

// saved: the statistics, one row for each group. Only rows of groups whose samples are on this device are on it too.
static inline dp_sample_groups dp_sample_groups_of(const dp_kernel_spec *spec, const dp_local *saved) {
  const dp_local *x = &spec->inputs[0].local;
  int64_t unit = dp_node_int(spec->node, "unit", 1);
  return (dp_sample_groups){saved->whole[0],       x->whole[0] / unit, unit,
                            x->lo[0] * x->unit[0], saved->lo[0],       saved->hi[0]};
}

// Returns the number of the group's rows on this device, which start at row *first.
static inline int64_t dp_sample_groups_rows(const dp_sample_groups *g, int64_t group, int64_t *first) {
  int64_t begin = group * g->samples / g->count * g->unit;
  *first = begin - g->first;
  return (group + 1) * g->samples / g->count * g->unit - begin;
}

// The inputs and outputs of one computation; NULL: not given or not wanted.
typedef struct {
  bool training;                // use the statistics of each group; else mean and variance
  bool unbiased;                // the kept variance is unbiased
  double epsilon, momentum;     // momentum: of the running buffers
  const void *mean, *variance;  // the old running buffers
  void *running_mean, *running_variance;
  void *saved_mean, *saved_invstd;    // of each group, for the gradient
  void *first_mean, *first_variance;  // of the group with the first sample; 0 on other devices
} dp_batch_normalization;

// Normalises operand 0 with scale and bias, operands 1 and 2, into result 0.
dp_status dp_batch_normalization_run(const dp_call *call, const dp_sample_groups *groups,
                                     const dp_batch_normalization *b);

// The `run` of the gradients, which use the statistics of each group.
dp_status dp_batch_normalization_grad(const dp_call *call, const dp_sample_groups *groups);

#endif
