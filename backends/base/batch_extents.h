// The extents of batch normalization: a tensor (N, C, ...) seen as samples x channels x inner elements, and groups of
// samples that have statistics of their own.
#ifndef DP_BACKENDS_BASE_BATCH_EXTENTS_H
#define DP_BACKENDS_BASE_BATCH_EXTENTS_H

#include "ir/kernel/extents.h"

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

#endif
