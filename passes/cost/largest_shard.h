// What a device has of a value of the device form: of all devices and micro-batches that with most, at the largest n.
#ifndef DP_PASSES_COST_LARGEST_SHARD_H
#define DP_PASSES_COST_LARGEST_SHARD_H

#include "ir/graph/graph.h"

// Micro-batches that were put side by side lie in the whole tensor's extents.
dp_local dp_largest_shard_of(const dp_model *model, const dp_value *value);
uint64_t dp_largest_shard_bytes(const dp_model *model, const dp_value *value);

#endif
