// BatchNormalization and its gradient: a tensor (N, C, ...) as samples x channels x inner elements.
#ifndef DP_BACKENDS_CPU_REFERENCE_BATCH_NORMALIZATION_H
#define DP_BACKENDS_CPU_REFERENCE_BATCH_NORMALIZATION_H

#include "backends/cpu/reference/reference.h"

typedef struct {
  int64_t samples, channels, inner;
} dp_channels;

static inline dp_channels dp_channels_of(const dp_local *x) {
  return (dp_channels){x->extents[0], x->rank > 1 ? x->extents[1] : 1, dp_product(x->extents, 2, x->rank)};
}

// The groups of samples that are here: of dp.GroupedBatchNormalization and its gradient; one of all for plain ones.
typedef struct {
  int64_t count, samples, unit,
      first;       // of groups; of samples in the whole batch; rows of each; the first row that is here
  int64_t lo, hi;  // groups
} dp_sample_groups;

static inline dp_sample_groups dp_sample_groups_whole(const dp_local *x) {
  return (dp_sample_groups){.count = 1, .samples = x->extents[0], .unit = 1, .hi = 1};
}

// saved: the statistics, a row a group, of which those are here whose samples are.
static inline dp_sample_groups dp_sample_groups_of(const dp_kernel_spec *spec, const dp_local *saved) {
  const dp_local *x = &spec->inputs[0].local;
  int64_t unit = dp_node_int(spec->node, "unit", 1);
  return (dp_sample_groups){saved->whole[0],       x->whole[0] / unit, unit,
                            x->lo[0] * x->unit[0], saved->lo[0],       saved->hi[0]};
}

// The group's rows as they are here, from *first on; how many.
static inline int64_t dp_sample_groups_rows(const dp_sample_groups *g, int64_t group, int64_t *first) {
  int64_t begin = group * g->samples / g->count * g->unit;
  *first = begin - g->first;
  return (group + 1) * g->samples / g->count * g->unit - begin;
}

// What is to be computed, and of what; NULL: not given, not asked for.
typedef struct {
  bool training;                // by the statistics of each group; else by mean and variance
  bool unbiased;                // of a variance that is kept
  double epsilon, momentum;     // momentum: of the running buffers
  const void *mean, *variance;  // the running buffers before
  void *running_mean, *running_variance;
  void *saved_mean, *saved_invstd;    // of each group, for the gradient
  void *first_mean, *first_variance;  // of the group that holds the first sample; 0 where it is not
} dp_batch_normalization;

// Normalises operand 0 by scale and bias, operands 1 and 2, into result 0.
dp_status dp_batch_normalization_run(const dp_call *call, const dp_sample_groups *groups,
                                     const dp_batch_normalization *b);

// run of the gradients, by the statistics of each group.
dp_status dp_batch_normalization_grad(const dp_call *call, const dp_sample_groups *groups);

#endif
