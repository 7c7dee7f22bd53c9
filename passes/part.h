// What a device has of a value of the device form: of all devices and micro-batches that with most, at the largest n.
#ifndef DP_PASSES_PART_H
#define DP_PASSES_PART_H

#include "ir/graph.h"

// Micro-batches that were put side by side lie in the whole tensor's extents.
dp_local dp_part_of(const dp_model *model, const dp_value *value);
uint64_t dp_part_bytes(const dp_model *model, const dp_value *value);

#endif
