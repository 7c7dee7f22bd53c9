// ReduceLogSumExp over axes (all when none are named): the logarithm of the sum of e^x. dx = dy e^(x - y).
#include "ir/ops/reduce_fold.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *from = dp_build2(b, "Sub", node->inputs[0], dp_reduce_expand(b, node, node->outputs[0]));
  dx[0] = dp_build2(b, "Mul", dp_reduce_expand(b, node, dy[0]), dp_build1(b, "Exp", from));
}

static void placements(dp_sharding_rules *rules) { dp_reduce_fold_sharding(rules, dp_replicate()); }

static void decompose(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  dp_value *most = dp_reduce_fold_same(b, "ReduceMax", node, in[0]);
  dp_value *from = dp_build2(b, "Sub", in[0], dp_reduce_expand(b, node, most));
  dp_value *sum = dp_reduce_fold_same(b, "ReduceSum", node, dp_build1(b, "Exp", from));
  out[0] = dp_build2(b, "Add", dp_build1(b, "Log", sum), most);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .attrs = "axes=[0], keepdims=0", .n = 5, .low = -4, .high = 4},
    {.inputs = "float32[N,3,4]", .attrs = "axes=[-1,0]", .n = 4, .low = -4, .high = 4},
    {.inputs = "float32[N,3,2]", .attrs = "keepdims=0", .n = 3, .low = -4, .high = 4},
    {.inputs = "float32[N,3]", .attrs = "noop_with_empty_axes=1", .n = 4, .low = -4, .high = 4},
    {0},
};

const dp_op dp_op_ReduceLogSumExp = {
    .name = "ReduceLogSumExp",
    .domain = "",
    DP_REDUCE_SCHEMA(DP_FLOATS),
    .precision = DP_PRECISION_FULL,
    .gradient = gradient,
    .sharding = placements,
    .decompose = decompose,
    .samples = samples,
};
