// ReduceMax over axes (all when none are named). The gradient is shared among equal elements, as in PyTorch. A part of
// a reduced dim gives the part's maximum: Partial(max).
#include "ir/ops/reduce_fold.h"

static void placements(dp_sharding_rules *rules) {
  dp_reduce_fold_sharding(rules, dp_partial(DP_MAX));
  dp_placement max = dp_partial(DP_MAX);
  dp_sharding_add_placed(rules, &max, &max);
}

const dp_op dp_op_ReduceMax = {
    .name = "ReduceMax",
    .domain = "",
    DP_REDUCE_SCHEMA(DP_ANY_TYPE),
    .gradient = dp_reduce_fold_extreme,
    .sharding = placements,
    .samples = dp_reduce_fold_any_samples,
};
