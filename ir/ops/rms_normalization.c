// RMSNormalization(x, scale) {axis}: x divided by the root of its mean square over the dims from `axis` on, times
// scale, which has the shape of these dims. The mean is computed in float64 regardless of stash_type.
#include "ir/ops/normalization.h"

enum { X, SCALE };

static dp_status infer(dp_node *node) {
  dp_shape inner;
  DP_TRY(dp_normalization_inner_check(node, &inner));
  return dp_common_infer_same(node);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_normalization_inner_gradient(b, node, "dp.RMSNormalizationGrad", dy[0], dx);
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, X);
  for (int d = 0; d < dp_normalization_inner_axis(rules->node); d++)
    dp_sharding_split(rules, x->dims[d], (int[]){d, DP_WHOLE}, &d);
}

static void decompose(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  int64_t axes[DP_MAX_RANK];
  const size_t n_axes = dp_normalization_inner_axes(node, axes);
  dp_normalization n =
      dp_normalization_make(b, in[X], axes, n_axes, dp_node_float(node, "epsilon", 1e-5), false, NULL, NULL);
  out[0] = dp_build2(b, "Mul", n.h, in[SCALE]);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,5], float32[5]", .n = 4},
    {.inputs = "float32[N,2,3], float32[2,3]", .attrs = "axis=1, epsilon=0.1, stash_type=11", .n = 4},
    {0},
};

const dp_op dp_op_RMSNormalization = {
    .name = "RMSNormalization",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("scale", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_INT_ATTR("axis", -1), DP_FLOAT_ATTR("epsilon", 1e-5), DP_INT_ATTR("stash_type", 1)},
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .decompose = decompose,
    .row = dp_common_row,
    .cost = dp_normalization_cost,
    .samples = samples,
};
