// dp.Assign(w, x [, skip]) -> w': x takes the place of w, unless skip is not 0: then w stays.
#include "ir/ops/update.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_common_expect("the new value", dp_common_shape(node, 1), dp_common_shape(node, 0)));
  DP_TRY(dp_update_expect_skip(node));
  return dp_common_infer_same(node);
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *w = dp_common_shape(rules->node, 0);
  for (int d = 0; d < w->rank; d++) dp_sharding_split(rules, w->dims[d], (int[]){d, d, DP_WHOLE}, (int[]){d});
}

static const dp_sample samples[] = {
    {.inputs = "float32[4,3], float32[4,3]"},
    {.inputs = "float32[7], float32[7], int64[]", .low = 1, .high = 3},
    {.inputs = "float32[2,3], float32[2,3], int64[]", .low = 0, .high = 0.5},
    {.inputs = "int64[5], int64[5], int64[]", .low = 0, .high = 9},
    {.inputs = "bool[5], bool[5]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Assign = {
    .name = "Assign",
    .domain = "dp",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("w", DP_ANY_TYPE, 'T'), DP_OPERAND("x", DP_ANY_TYPE, 'T'), DP_UPDATE_SKIP},
    .outputs = {DP_OPERAND("w_new", DP_ANY_TYPE, 'T')},
    .flags = DP_OP_UPDATE | DP_OP_ELEMENTWISE,
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .sharding = placements,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
