// LayerNormalization(x, scale [, bias]) {axis} -> y [, mean, invstd]: mean 0 and variance 1 over the dims from `axis`
// on, before scale and bias, which have the shape of these dims. Statistics are computed in float64 regardless of
// stash_type, and returned in x's type.
#include "ir/ops/normalization.h"

enum { X, SCALE, BIAS };
enum { Y, MEAN, INVSTD, RESULTS };

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, X);
  dp_shape inner, outer = *x;
  DP_TRY(dp_normalization_inner_check(node, &inner));
  for (int d = dp_normalization_inner_axis(node); d < x->rank; d++) outer.dims[d] = dp_dim_of(1);
  if (dp_common_operand(node, BIAS)) DP_TRY(dp_common_expect("bias", dp_common_shape(node, BIAS), &inner));
  dp_common_set(node, Y, node->inputs[X]->type->dtype, x);
  for (int i = MEAN; i < RESULTS; i++) dp_common_set(node, i, node->inputs[X]->type->dtype, &outer);
  return DP_OK;
}

static dp_value *sum_up(dp_builder *b, dp_value *sum, dp_value *addend) {
  return sum ? dp_build2(b, "Add", sum, addend) : addend;
}

// d mean / dx = 1 / count, d invstd / dx = -invstd^2 h / count
static dp_value *through_statistics(dp_builder *b, const dp_node *node, dp_value *dmean, dp_value *dinvstd) {
  const dp_shape *x = dp_common_shape(node, X);
  int64_t axes[DP_MAX_RANK];
  const size_t n_axes = dp_normalization_inner_axes(node, axes);
  dp_value *count = dp_build_count(b, x, axes, n_axes, node->inputs[X]->type->dtype), *sum = NULL;
  if (dmean) {
    dp_attr shape = dp_attr_dims(b->graph->arena, "shape", x);
    sum = dp_build(b, "Expand", 1, &dmean, 1, 1, &shape);
  }
  if (dinvstd) {
    dp_normalization n = dp_normalization_make(b, node->inputs[X], axes, n_axes, dp_node_float(node, "epsilon", 1e-5),
                                               true, dp_common_result(node, MEAN), dp_common_result(node, INVSTD));
    dp_value *slope = dp_build2(b, "Mul", dp_build2(b, "Mul", n.invstd, n.invstd), dinvstd);
    sum = sum_up(b, sum, dp_build1(b, "Neg", dp_build2(b, "Mul", n.h, slope)));
  }
  return dp_build2(b, "Div", sum, count);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *dmean = node->n_outputs > MEAN ? dy[MEAN] : NULL, *dinvstd = node->n_outputs > INVSTD ? dy[INVSTD] : NULL;
  if (dy[Y]) dp_normalization_inner_gradient(b, node, "dp.LayerNormalizationGrad", dy[Y], dx);
  if (dmean || dinvstd) dx[X] = sum_up(b, dx[X], through_statistics(b, node, dmean, dinvstd));
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, X);
  for (int d = 0; d < dp_normalization_inner_axis(rules->node); d++)
    dp_sharding_split(rules, x->dims[d], (int[]){d, DP_WHOLE, DP_WHOLE}, (int[]){d, d, d});
}

static void decompose(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  int64_t axes[DP_MAX_RANK];
  size_t n_axes = dp_normalization_inner_axes(node, axes);
  dp_normalization n =
      dp_normalization_make(b, in[X], axes, n_axes, dp_node_float(node, "epsilon", 1e-5), true, NULL, NULL);
  out[Y] = dp_build2(b, "Mul", n.h, in[SCALE]);
  if (dp_common_operand(node, BIAS)) out[Y] = dp_build2(b, "Add", out[Y], in[BIAS]);
  if (dp_common_result(node, MEAN)) out[MEAN] = n.mean;
  if (dp_common_result(node, INVSTD)) out[INVSTD] = n.invstd;
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,5], float32[5], float32[5]", .n = 4},
    {.inputs = "float32[N,2,3], float32[2,3]", .attrs = "axis=1, epsilon=0.1", .n = 4},
    {.inputs = "float32[3,4], float32[3,4], float32[3,4]", .attrs = "axis=-2, stash_type=11"},
    {0},
};

const dp_op dp_op_LayerNormalization = {
    .name = "LayerNormalization",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = RESULTS,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("Scale", DP_FLOATS, 'T'), DP_OPTIONAL("B", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T'), DP_OPTIONAL("Mean", DP_FLOATS, 'T'),
                DP_OPTIONAL("InvStdDev", DP_FLOATS, 'T')},
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
