// Identity. Keeps any placement. With detach=1 no gradient passes it.
#include "ir/ops/elementwise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  (void)b;
  dx[0] = dp_node_int(node, DP_ATTR_DETACH, 0) ? NULL : dy[0];
}

static void placements(dp_sharding_rules *rules) {
  dp_elementwise_sharding(rules);
  dp_sharding_linear(rules, 1);
  dp_sharding_rule *rule = dp_sharding_add(rules);
  rule->in[0] = rule->out[0] = dp_partial(DP_MAX);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5},
    {.inputs = "int32[N,3]", .n = 5, .low = -9, .high = 9},
    {.inputs = "int64[3]", .low = -9, .high = 9},
    {.inputs = "uint8[3]", .low = 0, .high = 255},
    {.inputs = "bool[6]", .low = 0, .high = 1},
    {.inputs = "float32[N,3]", .attrs = "detach=1", .n = 5, .no_gradient = true},
    {0},
};

const dp_op dp_op_Identity = {
    .name = "Identity",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_STORED, 'T')},
    .outputs = {DP_OPERAND("output", DP_STORED, 'T')},
    .attrs = {DP_INT_ATTR(DP_ATTR_DETACH, 0)},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_common_infer_same,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
