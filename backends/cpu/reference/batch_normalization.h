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

#endif
