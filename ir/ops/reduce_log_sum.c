// ReduceLogSum over axes (all when none are named): the logarithm of the sum. dx = dy / e^y.
#include "ir/ops/reduce_fold.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dx[0] = dp_reduce_expand(b, node, dp_build2(b, "Div", dy[0], dp_build1(b, "Exp", node->outputs[0])));
}

static void placements(dp_sharding_rules *rules) { dp_reduce_fold_sharding(rules, dp_replicate()); }

static void decompose(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  out[0] = dp_build1(b, "Log", dp_reduce_fold_same(b, "ReduceSum", node, in[0]));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .attrs = "axes=[0], keepdims=0", .n = 5, .low = 0.5, .high = 2},
    {.inputs = "float32[N,3,4]", .attrs = "axes=[-1,0]", .n = 4, .low = 0.5, .high = 2},
    {.inputs = "float32[N,3,2]", .attrs = "keepdims=0", .n = 3, .low = 0.5, .high = 2},
    {.inputs = "float32[N,3]", .attrs = "noop_with_empty_axes=1", .n = 4, .low = 0.5, .high = 2},
    {0},
};

const dp_op dp_op_ReduceLogSum = {
    .name = "ReduceLogSum",
    .domain = "",
    DP_REDUCE_SCHEMA(DP_FLOATS),
    .precision = DP_PRECISION_FULL,
    .gradient = gradient,
    .sharding = placements,
    .decompose = decompose,
    .samples = samples,
};
