// HardSigmoid: alpha x + beta limited to [0, 1]. dx = alpha dy where the result is neither bound.
#include "ir/ops/piecewise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *y = node->outputs[0], *zero = dp_build_fill(b, y->type->dtype, 0);
  dp_value *inside = dp_elementwise_with(b, "Mul", dy[0], dp_node_float(node, "alpha", 0.2));
  dx[0] = dp_piecewise_where(b, "Greater", y, 0, dp_piecewise_where(b, "Less", y, 1, inside, zero), zero);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5, .low = -3, .high = 3},
    {.inputs = "float32[2,N,4]", .attrs = "alpha=0.5, beta=0.25", .n = 3, .low = -3, .high = 3},
    {0},
};

const dp_op dp_op_HardSigmoid = {
    .name = "HardSigmoid",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_FLOAT_ATTR("alpha", 0.2), DP_FLOAT_ATTR("beta", 0.5)},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_common_infer_same,
    .gradient = gradient,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
