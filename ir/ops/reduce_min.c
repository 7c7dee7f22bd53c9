// ReduceMin over axes (all when none are named). The gradient is shared among equal ones, as in PyTorch.
#include "ir/ops/reduce_fold.h"

static void placements(dp_sharding_rules *rules) { dp_reduce_fold_sharding(rules, dp_replicate()); }

static void decompose(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  if (in[0]->type.dtype == DP_UINT8) return;  // has no negative numbers
  out[0] = dp_build1(b, "Neg", dp_reduce_fold_same(b, "ReduceMax", node, dp_build1(b, "Neg", in[0])));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .attrs = "axes=[0], keepdims=0", .n = 5},
    {.inputs = "float32[N,3,4]", .attrs = "axes=[-1,0]", .n = 4},
    {.inputs = "float32[N,3,2]", .attrs = "keepdims=0", .n = 3},
    {.inputs = "float32[N,3]", .attrs = "noop_with_empty_axes=1", .n = 4},
    {.inputs = "int32[N,3]", .attrs = "axes=[1]", .n = 4, .low = -9, .high = 9},
    {.inputs = "int64[N]", .attrs = "axes=[0], keepdims=0", .n = 8, .low = -9, .high = 9},
    {.inputs = "uint8[3,4]", .attrs = "axes=[1]", .low = 0, .high = 255},
    {.inputs = "bool[N,3]", .attrs = "axes=[1]", .n = 4, .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_ReduceMin = {
    .name = "ReduceMin",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_ANY_TYPE, 'T'), DP_AS_ATTR("axes", DP_BIT(DP_INT64), true)},
    .outputs = {DP_OPERAND("reduced", DP_ANY_TYPE, 'T')},
    .attrs = {DP_INTS_ATTR("axes"), DP_INT_ATTR("keepdims", 1), DP_INT_ATTR("noop_with_empty_axes", 0)},
    .infer = dp_reduce_infer,
    .gradient = dp_reduce_fold_extreme,
    .sharding = placements,
    .decompose = decompose,
    .cost = dp_reduce_cost,
    .samples = samples,
};
