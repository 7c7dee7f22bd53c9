// Shrink: x + bias where x is less than -lambd, x - bias where it is greater than lambd, else 0.
#include "ir/ops/piecewise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *x = node->inputs[0], *zero = dp_build_fill(b, x->type->dtype, 0);
  double lambd = dp_node_float(node, "lambd", 0.5);
  dp_value *right = dp_piecewise_where(b, "Greater", x, lambd, dy[0], zero);
  dx[0] = dp_piecewise_where(b, "Less", x, -lambd, dy[0], right);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5, .low = -3, .high = 3},
    {.inputs = "float32[2,N,4]", .attrs = "lambd=1.5, bias=0.75", .n = 3, .low = -3, .high = 3},
    {0},
};

const dp_op dp_op_Shrink = {
    .name = "Shrink",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_FLOAT_ATTR("lambd", 0.5), DP_FLOAT_ATTR("bias", 0)},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_common_infer_same,
    .gradient = gradient,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
