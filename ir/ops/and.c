// And of truth values, with broadcasting.
#include "ir/ops/elementwise.h"

const dp_op dp_op_And = {
    .name = "And",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("A", DP_BIT(DP_BOOL), 'T'), DP_OPERAND("B", DP_BIT(DP_BOOL), 'T')},
    .outputs = {DP_OPERAND("C", DP_BIT(DP_BOOL), 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_elementwise_infer,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = dp_elementwise_truths,
};
