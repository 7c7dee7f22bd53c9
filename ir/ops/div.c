// Div, with broadcasting. Integers are truncated towards zero, and dividing them by zero is an error of the data. For
// floats, linear in the dividend.
#include "ir/ops/elementwise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  // d(a/y) = da / y - (a/y) dy / y
  dp_value *da = dp_build2(b, "Div", dy[0], node->inputs[1]);
  dp_elementwise_give(b, node, 0, da, dx);
  dp_value *scaled = dp_build2(b, "Mul", da, node->outputs[0]);
  dx[1] = dp_build1(b, "Neg", dp_build_reduce_to(b, scaled, dp_common_shape(node, 1)));
}

static void placements(dp_sharding_rules *rules) {
  dp_elementwise_sharding(rules);
  if (dp_type_is_float(rules->node->inputs[0]->type->dtype)) dp_sharding_linear(rules, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[N,3]", .n = 5, .low = 0.5, .high = 2},
    {.inputs = "float32[N,1,4], float32[3,1]", .n = 6, .low = -3, .high = -0.5},
    {.inputs = "int32[N,3], int32[3]", .n = 4, .low = -50, .high = -3},
    {.inputs = "int64[2,3], int64[2,3]", .low = 1, .high = 9},
    {.inputs = "uint8[5], uint8[5]", .low = 3, .high = 200},
    {.inputs = "uint64[N,3], uint64[3]", .n = 5, .low = 1, .high = 99},
    {.inputs = "int16[N,3], int16[3]", .n = 5, .low = 1, .high = 99},
    {0},
};

const dp_op dp_op_Div = {
    .name = "Div",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("A", DP_NUMBERS, 'T'), DP_OPERAND("B", DP_NUMBERS, 'T')},
    .outputs = {DP_OPERAND("C", DP_NUMBERS, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .refuses = dp_elementwise_refuses_zero,
    .infer = dp_elementwise_infer,
    .gradient = gradient,
    .sharding = placements,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
