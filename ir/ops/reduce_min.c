// ReduceMin over axes (all when none are named). The gradient is shared among equal elements, as in PyTorch.
#include "ir/ops/reduce_fold.h"

static void placements(dp_sharding_rules *rules) { dp_reduce_fold_sharding(rules, dp_replicate()); }

static void decompose(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  if (in[0]->type->dtype == DP_UINT8) return;  // has no negative numbers
  out[0] = dp_build1(b, "Neg", dp_reduce_fold_same(b, "ReduceMax", node, dp_build1(b, "Neg", in[0])));
}

const dp_op dp_op_ReduceMin = {
    .name = "ReduceMin",
    .domain = "",
    DP_REDUCE_SCHEMA(DP_ANY_TYPE),
    .gradient = dp_reduce_fold_extreme,
    .sharding = placements,
    .decompose = decompose,
    .samples = dp_reduce_fold_any_samples,
};
