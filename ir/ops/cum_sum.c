// CumSum: each element is the sum of those up to it along `axis`; exclusive: without itself; reverse: from the end.
// Linear; its gradient is the same in the other direction.
#include "ir/ops/cumulative.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_attr attrs[] = {dp_attr_int("axis", dp_cumulative_axis(node)),
                     dp_attr_int("exclusive", dp_node_int(node, "exclusive", 0)),
                     dp_attr_int("reverse", !dp_node_int(node, "reverse", 0))};
  dx[0] = dp_build(b, "CumSum", 1, dy, 1, 3, attrs);
}

static void placements(dp_sharding_rules *rules) {
  dp_sharding_split_but(rules, dp_cumulative_axis(rules->node));
  dp_sharding_linear(rules, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,5]", .attrs = "axis=1", .n = 4},
    {.inputs = "float32[3,N,2]", .attrs = "axis=-2, exclusive=1", .n = 4},
    {.inputs = "float32[N,4]", .attrs = "axis=1, reverse=1", .n = 3},
    {.inputs = "float32[N,4]", .attrs = "axis=1, reverse=1, exclusive=1", .n = 3},
    {.inputs = "int32[N,4]", .attrs = "axis=1", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[7]", .attrs = "axis=0", .low = -9, .high = 9},
    {0},
};

const dp_op dp_op_CumSum = {
    .name = "CumSum",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("x", DP_NUMBERS, 'T'), DP_CUMULATIVE_AXIS},
    .outputs = {DP_OPERAND("y", DP_NUMBERS, 'T')},
    .attrs = {DP_CUMULATIVE_ATTRS},
    .precision = DP_PRECISION_FULL,
    .infer = dp_cumulative_infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
