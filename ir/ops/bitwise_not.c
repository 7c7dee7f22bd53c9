// BitwiseNot of integers: flips every bit.
#include "ir/ops/elementwise.h"

static const dp_sample samples[] = {
    {.inputs = "int32[N,3]", .n = 5, .low = -99, .high = 99},
    {.inputs = "uint8[7]", .low = 0, .high = 255},
    {0},
};

const dp_op dp_op_BitwiseNot = {
    .name = "BitwiseNot",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_INTS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_INTS, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_common_infer_same,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
