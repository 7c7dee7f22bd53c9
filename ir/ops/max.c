// Max of two operands, with broadcasting. Where they are equal each gets half of the gradient, as in PyTorch.
#include "ir/ops/elementwise.h"

const dp_op dp_op_Max = {
    .name = "Max",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("A", DP_NUMBERS, 'T'), DP_OPERAND("B", DP_NUMBERS, 'T')},
    .outputs = {DP_OPERAND("max", DP_NUMBERS, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_elementwise_infer,
    .gradient = dp_elementwise_chosen,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = dp_elementwise_choices,
};
