// BitwiseAnd of integers: the bits that both have, with broadcasting.
#include "ir/ops/elementwise.h"

static const dp_sample samples[] = {
    {.inputs = "int32[N,3], int32[N,3]", .n = 5, .low = -99, .high = 99},
    {.inputs = "int64[N,1,4], int64[3,1]", .n = 3, .low = -99, .high = 99},
    {.inputs = "uint8[2,3], uint8[]", .low = 0, .high = 255},
    {0},
};

const dp_op dp_op_BitwiseAnd = {
    .name = "BitwiseAnd",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("A", DP_INTS, 'T'), DP_OPERAND("B", DP_INTS, 'T')},
    .outputs = {DP_OPERAND("C", DP_INTS, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_elementwise_infer,
    .placements = dp_elementwise_rows,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
