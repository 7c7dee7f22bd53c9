// Atanh. dx = dy / (1 - x x).
#include "ir/ops/piecewise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *square = dp_build2(b, "Mul", node->inputs[0], node->inputs[0]);
  dx[0] = dp_build2(b, "Div", dy[0], dp_piecewise_of(b, "Sub", 1, square));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5, .low = -0.8, .high = 0.8},
    {.inputs = "float32[2,N,4]", .n = 3, .low = -0.8, .high = 0.8},
    {0},
};

const dp_op dp_op_Atanh = {
    .name = "Atanh",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .precision = DP_PRECISION_FULL,
    .infer = dp_common_infer_same,
    .gradient = gradient,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
