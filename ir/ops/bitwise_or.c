// BitwiseOr of integers, with broadcasting.
#include "ir/ops/elementwise.h"

const dp_op dp_op_BitwiseOr = {
    .name = "BitwiseOr",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("A", DP_INTS, 'T'), DP_OPERAND("B", DP_INTS, 'T')},
    .outputs = {DP_OPERAND("C", DP_INTS, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_elementwise_infer,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = dp_elementwise_bits,
};
