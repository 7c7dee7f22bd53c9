// ReduceProd over axes (all when none are named). An element's gradient is dy times the product of the others, computed
// without division, which could be by 0.
#include "ir/ops/reduce_fold.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *x = node->inputs[0], *zero = dp_build_fill(b, x->type->dtype, 0);
  dp_value *factors = dp_piecewise_where(b, "Equal", x, 0, dp_build_fill(b, x->type->dtype, 1), x);
  dp_value *is_zero = dp_build_cast(b, dp_build2(b, "Equal", x, zero), x->type->dtype);
  dp_value *product = dp_build2(b, "Mul", dy[0], dp_reduce_fold_same(b, "ReduceProd", node, factors));
  dp_value *others = dp_build2(b, "Div", dp_reduce_expand(b, node, product), factors);
  dp_value *zeros = dp_reduce_expand(b, node, dp_reduce_fold_same(b, "ReduceSum", node, is_zero));
  dx[0] = dp_piecewise_where(b, "Equal", dp_build2(b, "Sub", zeros, is_zero), 0, others, zero);
}

static void placements(dp_sharding_rules *rules) { dp_reduce_fold_sharding(rules, dp_replicate()); }

const dp_op dp_op_ReduceProd = {
    .name = "ReduceProd",
    .domain = "",
    DP_REDUCE_SCHEMA(DP_NUMBERS),
    .precision = DP_PRECISION_FULL,
    .gradient = gradient,
    .sharding = placements,
    .samples = dp_reduce_fold_samples,
};
