// Swish: x sigmoid(alpha x). dx = dy (s + alpha y (1 - s)), s = sigmoid(alpha x).
#include "ir/ops/piecewise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  double alpha = dp_node_float(node, "alpha", 1);
  dp_value *s = dp_build1(b, "Sigmoid", dp_elementwise_with(b, "Mul", node->inputs[0], alpha));
  dp_value *rest = dp_build2(b, "Mul", node->outputs[0], dp_piecewise_of(b, "Sub", 1, s));
  dp_value *slope = dp_build2(b, "Add", s, dp_elementwise_with(b, "Mul", rest, alpha));
  dx[0] = dp_build2(b, "Mul", dy[0], slope);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5, .low = -3, .high = 3},
    {.inputs = "float32[2,N,4]", .attrs = "alpha=0.5", .n = 3, .low = -3, .high = 3},
    {0},
};

const dp_op dp_op_Swish = {
    .name = "Swish",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_FLOAT_ATTR("alpha", 1)},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_common_infer_same,
    .gradient = gradient,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
