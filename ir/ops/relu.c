// Relu. Its gradient uses the result, which the next layer keeps anyway, rather than the operand.
#include "ir/ops/elementwise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dx[0] = dp_build2(b, "dp.ReluGrad", dy[0], node->outputs[0]);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5},
    {.inputs = "float32[2,N,4]", .n = 3},
    {.inputs = "int32[N,3]", .n = 4, .low = -9, .high = 9},
    {.inputs = "int64[4]", .low = -9, .high = 9},
    {0},
};

const dp_op dp_op_Relu = {
    .name = "Relu",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS | DP_BIT(DP_INT32) | DP_BIT(DP_INT64), 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS | DP_BIT(DP_INT32) | DP_BIT(DP_INT64), 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_common_infer_same,
    .gradient = gradient,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
