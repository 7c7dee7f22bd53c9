// Add, with broadcasting. Linear: sums of partial sums are partial sums.
#include "ir/ops/elementwise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_elementwise_give(b, node, 0, dy[0], dx);
  dp_elementwise_give(b, node, 1, dy[0], dx);
}

static void placements(dp_sharding_rules *rules) {
  dp_elementwise_sharding(rules);
  dp_sharding_linear(rules, 3);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[N,3]", .n = 5},
    {.inputs = "float32[N,1,4], float32[3,1]", .n = 7},
    {.inputs = "float32[4], float32[N,6,4]", .n = 2},
    {.inputs = "int32[N,3], int32[3]", .n = 4, .low = -50, .high = 50},
    {.inputs = "int64[2,3], int64[]", .low = -50, .high = 50},
    {.inputs = "uint8[5], uint8[5]", .low = 0, .high = 200},
    {.inputs = "float16[N,3], float16[3]", .n = 5},
    {.inputs = "int8[N,3], int8[3]", .n = 5, .low = -120, .high = 120},
    {0},
};

const dp_op dp_op_Add = {
    .name = "Add",
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
