// PRelu(x, slope): x, or slope x where x is negative; slope broadcasts to x.
#include "ir/ops/piecewise.h"

static dp_status infer(dp_node *node) {
  dp_shape shape;
  DP_TRY(dp_shape_broadcast(dp_common_shape(node, 0), dp_common_shape(node, 1), &shape));
  DP_TRY(dp_common_expect("the operand broadcast with slope", &shape, dp_common_shape(node, 0)));
  return dp_common_infer_same(node);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *x = node->inputs[0], *zero = dp_build_fill(b, x->type->dtype, 0);
  dp_value *slope = dp_piecewise_where(b, "Less", x, 0, node->inputs[1], dp_build_fill(b, x->type->dtype, 1));
  dx[0] = dp_build2(b, "Mul", dy[0], slope);
  dp_elementwise_give(b, node, 1, dp_piecewise_where(b, "Less", x, 0, dp_build2(b, "Mul", dy[0], x), zero), dx);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[N,3]", .n = 5},
    {.inputs = "float32[N,3,4], float32[3,1]", .n = 4},
    {.inputs = "float32[N,3], float32[1]", .n = 4},
    {.inputs = "int32[N,3], int32[3]", .n = 4, .low = -9, .high = 9},
    {.inputs = "int64[4], int64[]", .low = -9, .high = 9},
    {0},
};

#define TYPES (DP_FLOATS | DP_BIT(DP_INT32) | DP_BIT(DP_INT64) | DP_BIT(DP_UINT32) | DP_BIT(DP_UINT64))

const dp_op dp_op_PRelu = {
    .name = "PRelu",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", TYPES, 'T'), DP_OPERAND("slope", TYPES, 'T')},
    .outputs = {DP_OPERAND("Y", TYPES, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = infer,
    .gradient = gradient,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
