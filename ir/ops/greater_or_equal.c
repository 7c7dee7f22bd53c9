// GreaterOrEqual, with broadcasting: bool. As in IEEE 754, no order holds for NaN.
#include "ir/ops/piecewise.h"

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[1,3]", .n = 5},
    {.inputs = "int32[N,3], int32[3]", .n = 8, .low = 0, .high = 2},
    {.inputs = "int64[N], int64[N]", .n = 9, .low = -1, .high = 2},
    {.inputs = "uint8[2,4], uint8[2,4]", .low = 0, .high = 3},
    {0},
};

const dp_op dp_op_GreaterOrEqual = {
    .name = "GreaterOrEqual",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("A", DP_NUMBERS, 'T'), DP_OPERAND("B", DP_NUMBERS, 'T')},
    .outputs = {DP_OPERAND("C", DP_BIT(DP_BOOL), 0)},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_piecewise_infer_bool,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
