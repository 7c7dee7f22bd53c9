// Round: to the nearest integer, ties to even. Its gradient is zero.
#include "ir/ops/piecewise.h"

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5, .low = -3, .high = 3},
    {.inputs = "float32[2,N,4]", .n = 3, .low = -3, .high = 3},
    {0},
};

const dp_op dp_op_Round = {
    .name = "Round",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_common_infer_same,
    .gradient = dp_piecewise_no_slope,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
