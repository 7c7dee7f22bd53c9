// Neg. Linear.
#include "ir/ops/elementwise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  (void)node;
  dx[0] = dp_build1(b, "Neg", dy[0]);
}

static void placements(dp_sharding_rules *rules) {
  dp_elementwise_sharding(rules);
  dp_sharding_linear(rules, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5},
    {.inputs = "float32[2,N,4]", .n = 3},
    {.inputs = "int32[N,3]", .n = 4, .low = -9, .high = 9},
    {.inputs = "int64[4]", .low = -9, .high = 9},
    {0},
};

const dp_op dp_op_Neg = {
    .name = "Neg",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS | DP_BIT(DP_INT32) | DP_BIT(DP_INT64), 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS | DP_BIT(DP_INT32) | DP_BIT(DP_INT64), 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_common_infer_same,
    .gradient = gradient,
    .sharding = placements,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
