// Selu: gamma x, or gamma alpha (e^x - 1) where x is negative; there dx = dy (y + gamma alpha).
#include "ir/ops/piecewise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *x = node->inputs[0];
  double alpha = dp_node_float(node, "alpha", 0), gamma = dp_node_float(node, "gamma", 0);
  dp_value *falling = dp_elementwise_with(b, "Add", node->outputs[0], gamma * alpha);
  dp_value *slope = dp_piecewise_where(b, "Less", x, 0, falling, dp_build_fill(b, x->type->dtype, gamma));
  dx[0] = dp_build2(b, "Mul", dy[0], slope);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5, .low = -3, .high = 3},
    {.inputs = "float32[2,N,4]", .attrs = "alpha=0.5, gamma=2.0", .n = 3, .low = -3, .high = 3},
    {0},
};

const dp_op dp_op_Selu = {
    .name = "Selu",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_FLOAT_ATTR("alpha", 1.67326319217681884765625), DP_FLOAT_ATTR("gamma", 1.05070102214813232421875)},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_common_infer_same,
    .gradient = gradient,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
