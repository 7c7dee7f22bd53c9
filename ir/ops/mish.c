// Mish: x tanh(softplus(x)). dx = dy (t + x sigmoid(x) (1 - t t)), t = tanh(softplus(x)).
#include "ir/ops/piecewise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *x = node->inputs[0], *t = dp_build1(b, "Tanh", dp_build1(b, "Softplus", x));
  dp_value *rise = dp_piecewise_of(b, "Sub", 1, dp_build2(b, "Mul", t, t));
  dp_value *slope = dp_build2(b, "Mul", dp_build2(b, "Mul", x, dp_build1(b, "Sigmoid", x)), rise);
  dx[0] = dp_build2(b, "Mul", dy[0], dp_build2(b, "Add", t, slope));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5, .low = -3, .high = 3},
    {.inputs = "float32[2,N,4]", .n = 3, .low = -3, .high = 3},
    {0},
};

const dp_op dp_op_Mish = {
    .name = "Mish",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_common_infer_same,
    .gradient = gradient,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
