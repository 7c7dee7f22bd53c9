// Elu: x, or alpha (e^x - 1) where x is negative; there dx = dy (y + alpha).
#include "ir/ops/piecewise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *x = node->inputs[0], *one = dp_build_fill(b, x->type->dtype, 1);
  dp_value *falling = dp_elementwise_with(b, "Add", node->outputs[0], dp_node_float(node, "alpha", 1));
  dx[0] = dp_build2(b, "Mul", dy[0], dp_piecewise_where(b, "Less", x, 0, falling, one));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5, .low = -3, .high = 3},
    {.inputs = "float32[2,N,4]", .attrs = "alpha=0.5", .n = 3, .low = -3, .high = 3},
    {0},
};

const dp_op dp_op_Elu = {
    .name = "Elu",
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
