// The largest part of a device-form value that any device has, over all micro-batches, at the largest n.
#ifndef DP_PASSES_COST_LARGEST_SHARD_H
#define DP_PASSES_COST_LARGEST_SHARD_H

#include "ir/graph/graph.h"

// Micro-batches that were concatenated are laid out in the whole tensor's extents.
dp_local dp_largest_shard_of(const dp_model *model, const dp_value *value);
uint64_t dp_largest_shard_bytes(const dp_model *model, const dp_value *value);

#endif
