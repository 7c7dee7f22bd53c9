// ReduceL1 over axes (all when none are named): the sum of the absolute values. dx = dy sign(x).
#include "ir/ops/reduce_fold.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dx[0] = dp_build2(b, "Mul", dp_reduce_expand(b, node, dy[0]), dp_build1(b, "Sign", node->inputs[0]));
}

static void placements(dp_sharding_rules *rules) { dp_reduce_fold_sharding(rules, dp_partial(DP_SUM)); }

const dp_op dp_op_ReduceL1 = {
    .name = "ReduceL1",
    .domain = "",
    DP_REDUCE_SCHEMA(DP_NUMBERS),
    .precision = DP_PRECISION_FULL,
    .gradient = gradient,
    .sharding = placements,
    .samples = dp_reduce_fold_samples,
};
