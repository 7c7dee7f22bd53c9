// Clip: x limited to [min, max]; the bounds may be left out. dx = dy where x is within them. The bounds themselves are
// included, as in PyTorch's clamp, or with grad_at_bound=0 excluded, as in its hardtanh and ReLU6.
#include "ir/ops/piecewise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *x = node->inputs[0], *zero = dp_build_fill(b, x->type->dtype, 0);
  const bool at_bound = dp_node_int(node, DP_ATTR_GRAD_AT_BOUND, 1);
  dx[0] = dy[0];
  if (dp_node_attr(node, "min"))
    dx[0] =
        dp_piecewise_where(b, at_bound ? "GreaterOrEqual" : "Greater", x, dp_node_float(node, "min", 0), dx[0], zero);
  if (dp_node_attr(node, "max"))
    dx[0] = dp_piecewise_where(b, at_bound ? "LessOrEqual" : "Less", x, dp_node_float(node, "max", 0), dx[0], zero);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .attrs = "min=0.0, max=6.0", .n = 5, .low = -4, .high = 9},
    {.inputs = "float32[2,N,4]", .attrs = "min=-0.25", .n = 3},
    {.inputs = "float32[N,4]", .attrs = "min=-0.25, max=0.5, grad_at_bound=0", .n = 3},
    {.inputs = "float32[N,4]", .attrs = "max=0.25", .n = 3},
    {.inputs = "float32[N,4]", .n = 3},
    {.inputs = "int32[N,3]", .attrs = "min=-3.0", .n = 4, .low = -9, .high = 9},
    {.inputs = "int64[4]", .attrs = "min=-3.0, max=3.0", .low = -9, .high = 9},
    {.inputs = "uint8[5]", .attrs = "max=100.0", .low = 0, .high = 200},
    {0},
};

const dp_op dp_op_Clip = {
    .name = "Clip",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_NUMBERS, 'T'), DP_AS_ATTR("min", DP_NUMBERS, true),
               DP_AS_ATTR("max", DP_NUMBERS, true)},
    .outputs = {DP_OPERAND("Y", DP_NUMBERS, 'T')},
    .attrs = {{.name = "min", .kind = DP_ATTR_FLOAT},
              {.name = "max", .kind = DP_ATTR_FLOAT},
              DP_INT_ATTR(DP_ATTR_GRAD_AT_BOUND, 1)},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_common_infer_same,
    .gradient = gradient,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
