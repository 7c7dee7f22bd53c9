// Sub, with broadcasting. Linear in both operands together.
#include "ir/ops/elementwise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_elementwise_give(b, node, 0, dy[0], dx);
  // Negated after the sum, where the tensor is smallest.
  dx[1] = dp_build1(b, "Neg", dp_build_reduce_to(b, dy[0], dp_common_shape(node, 1)));
}

static void placements(dp_sharding_rules *rules) {
  dp_elementwise_sharding(rules);
  dp_sharding_linear(rules, 3);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[N,3]", .n = 5},
    {.inputs = "float32[N,1,4], float32[3,1]", .n = 6},
    {.inputs = "int32[N,3], int32[3]", .n = 4, .low = -50, .high = 50},
    {.inputs = "int64[2,3], int64[2,3]", .low = -50, .high = 50},
    {.inputs = "uint8[5], uint8[5]", .low = 0, .high = 200},
    {.inputs = "uint8[N,3], uint8[3]", .n = 5, .low = 0, .high = 255},
    {0},
};

const dp_op dp_op_Sub = {
    .name = "Sub",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("A", DP_NUMBERS, 'T'), DP_OPERAND("B", DP_NUMBERS, 'T')},
    .outputs = {DP_OPERAND("C", DP_NUMBERS, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_elementwise_infer,
    .gradient = gradient,
    .sharding = placements,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
