// ReduceSumSquare over axes (all when none are named). dx = 2 dy x.
#include "ir/ops/reduce_fold.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *twice = dp_elementwise_with(b, "Mul", dy[0], 2);
  dx[0] = dp_build2(b, "Mul", dp_reduce_expand(b, node, twice), node->inputs[0]);
}

static void placements(dp_sharding_rules *rules) { dp_reduce_fold_sharding(rules, dp_partial(DP_SUM)); }

const dp_op dp_op_ReduceSumSquare = {
    .name = "ReduceSumSquare",
    .domain = "",
    DP_REDUCE_SCHEMA(DP_NUMBERS),
    .precision = DP_PRECISION_FULL,
    .gradient = gradient,
    .sharding = placements,
    .samples = dp_reduce_fold_samples,
};
