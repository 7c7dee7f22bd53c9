// ReduceL2 over axes (all when none are named): the root of the sum of squares. dx = dy x / y, 0 where y is.
#include "ir/ops/reduce_fold.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *y = node->outputs[0], *zero = dp_build_fill(b, y->type->dtype, 0);
  dp_value *part = dp_piecewise_where(b, "Equal", y, 0, zero, dp_build2(b, "Div", dy[0], y));
  dx[0] = dp_build2(b, "Mul", dp_reduce_expand(b, node, part), node->inputs[0]);
}

static void placements(dp_sharding_rules *rules) { dp_reduce_fold_sharding(rules, dp_replicate()); }

static void decompose(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  out[0] = dp_build1(b, "Sqrt", dp_reduce_fold_same(b, "ReduceSumSquare", node, in[0]));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .attrs = "axes=[0], keepdims=0", .n = 5},
    {.inputs = "float32[N,3,4]", .attrs = "axes=[-1,0]", .n = 4},
    {.inputs = "float32[N,3,2]", .attrs = "keepdims=0", .n = 3},
    {.inputs = "float32[N,3]", .attrs = "noop_with_empty_axes=1", .n = 4},
    {0},
};

const dp_op dp_op_ReduceL2 = {
    .name = "ReduceL2",
    .domain = "",
    DP_REDUCE_SCHEMA(DP_FLOATS),
    .precision = DP_PRECISION_FULL,
    .gradient = gradient,
    .sharding = placements,
    .decompose = decompose,
    .samples = samples,
};
