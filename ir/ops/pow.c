// Pow, with broadcasting: X to the power of Y, in X's type; Y may have another. As in PyTorch, X's gradient is 0 where
// Y is 0, and Y's is 0 where X is.
#include "ir/ops/piecewise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *x = node->inputs[0], *y = node->inputs[1], *zero = dp_build_fill(b, x->type->dtype, 0);
  dp_value *power = dp_build_cast(b, y, x->type->dtype);
  dp_value *less = dp_build2(b, "Pow", x, dp_elementwise_with(b, "Sub", power, 1));
  dp_value *to_x = dp_build2(b, "Mul", dy[0], dp_build2(b, "Mul", power, less));
  dp_elementwise_give(b, node, 0, dp_piecewise_where(b, "Equal", power, 0, zero, to_x), dx);
  if (!dp_type_is_float(y->type->dtype) || y->kind == DP_VALUE_CONSTANT) return;
  dp_value *to_y = dp_build2(b, "Mul", dy[0], dp_build2(b, "Mul", node->outputs[0], dp_build1(b, "Log", x)));
  dp_elementwise_give(b, node, 1, dp_build_cast(b, dp_piecewise_where(b, "Equal", x, 0, zero, to_y), y->type->dtype),
                      dx);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[N,3]", .n = 5, .low = 0.5, .high = 2},
    {.inputs = "float32[N,1,4], float32[3,1]", .n = 4, .low = 0.5, .high = 3},
    {.inputs = "float32[N,3], int64[3]", .n = 4, .low = -3, .high = 3},
    {.inputs = "float32[N], int32[]", .n = 4, .low = 2, .high = 3},
    {.inputs = "float32[N], uint8[]", .n = 4, .low = 2, .high = 3},
    {.inputs = "int32[N,3], int32[3]", .n = 4, .low = 0, .high = 6},
    {.inputs = "int64[2,3], int64[]", .low = 1, .high = 9},
    {.inputs = "int64[2,3], float32[]", .low = 1, .high = 3},
    {0},
};

#define TYPES (DP_FLOATS | DP_BIT(DP_INT32) | DP_BIT(DP_INT64))

const dp_op dp_op_Pow = {
    .name = "Pow",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", TYPES, 'T'), DP_OPERAND("Y", DP_NUMBERS, 0)},
    .outputs = {DP_OPERAND("Z", TYPES, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .precision = DP_PRECISION_FULL,
    .infer = dp_elementwise_infer,
    .gradient = gradient,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
