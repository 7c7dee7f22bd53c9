// Not.
#include "ir/ops/elementwise.h"

static const dp_sample samples[] = {
    {.inputs = "bool[N,3]", .n = 5, .low = 0, .high = 1},
    {.inputs = "bool[7]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Not = {
    .name = "Not",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_BIT(DP_BOOL), 'T')},
    .outputs = {DP_OPERAND("Y", DP_BIT(DP_BOOL), 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_common_infer_same,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
