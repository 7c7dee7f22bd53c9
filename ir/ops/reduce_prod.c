// ReduceProd over axes (all when none are named). An element's gradient is dy times the product of the others, which is
// found without dividing by 0.
#include "ir/ops/reduce_fold.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *x = node->inputs[0], *zero = dp_build_fill(b, x->type.dtype, 0);
  dp_value *factors = dp_piecewise_where(b, "Equal", x, 0, dp_build_fill(b, x->type.dtype, 1), x);
  dp_value *is_zero = dp_build_cast(b, dp_build2(b, "Equal", x, zero), x->type.dtype);
  dp_value *product = dp_build2(b, "Mul", dy[0], dp_reduce_fold_same(b, "ReduceProd", node, factors));
  dp_value *others = dp_build2(b, "Div", dp_reduce_expand(b, node, product), factors);
  dp_value *zeros = dp_reduce_expand(b, node, dp_reduce_fold_same(b, "ReduceSum", node, is_zero));
  dx[0] = dp_piecewise_where(b, "Equal", dp_build2(b, "Sub", zeros, is_zero), 0, others, zero);
}

static void placements(dp_sharding_rules *rules) { dp_reduce_fold_sharding(rules, dp_replicate()); }

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .attrs = "axes=[0], keepdims=0", .n = 5},
    {.inputs = "float32[N,3,4]", .attrs = "axes=[-1,0]", .n = 4},
    {.inputs = "float32[N,3,2]", .attrs = "keepdims=0", .n = 3},
    {.inputs = "float32[N,3]", .attrs = "noop_with_empty_axes=1", .n = 4},
    {.inputs = "int32[N,3]", .attrs = "axes=[1]", .n = 4, .low = -9, .high = 9},
    {.inputs = "int64[N]", .attrs = "axes=[0], keepdims=0", .n = 8, .low = -9, .high = 9},
    {0},
};

const dp_op dp_op_ReduceProd = {
    .name = "ReduceProd",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_NUMBERS, 'T'), DP_AS_ATTR("axes", DP_BIT(DP_INT64), true)},
    .outputs = {DP_OPERAND("reduced", DP_NUMBERS, 'T')},
    .attrs = {DP_INTS_ATTR("axes"), DP_INT_ATTR("keepdims", 1), DP_INT_ATTR("noop_with_empty_axes", 0)},
    .infer = dp_reduce_infer,
    .gradient = gradient,
    .sharding = placements,
    .cost = dp_reduce_cost,
    .samples = samples,
};
