// Gradients of normalizations of rows. See normalization_grad.h.
#include "ir/ops/normalization_grad.h"

enum { X, SCALE, DY };
enum { DX, DSCALE, DBIAS };

dp_status dp_normalization_grad_infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, X);
  const dp_dtype dtype = node->inputs[X]->type->dtype;
  dp_shape inner;
  DP_TRY(dp_normalization_inner_check(node, &inner));
  DP_TRY(dp_common_expect("the gradient", dp_common_shape(node, DY), x));
  dp_common_set(node, DX, dtype, x);
  for (int i = DSCALE; i < node->n_outputs; i++) dp_common_set(node, i, dtype, &inner);
  return DP_OK;
}

void dp_normalization_grad_sharding(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, X);
  dp_sharding_linear(rules, 1 << DY);
  for (int d = 0; d < dp_normalization_inner_axis(rules->node); d++)
    dp_sharding_split(rules, x->dims[d], (int[]){d, DP_WHOLE, d}, (int[]){d, DP_SUMMED, DP_SUMMED});
}

void dp_normalization_grad_decompose(dp_builder *b, const dp_node *node, dp_value *const *in, bool about_mean,
                                     dp_value **out) {
  const dp_shape *scale = &in[SCALE]->type->shape;
  int64_t axes[DP_MAX_RANK];
  const size_t n_axes = dp_normalization_inner_axes(node, axes);
  dp_normalization n =
      dp_normalization_make(b, in[X], axes, n_axes, dp_node_float(node, "epsilon", 1e-5), about_mean, NULL, NULL);
  out[DX] = dp_normalization_back(b, &n, dp_build2(b, "Mul", in[DY], in[SCALE]));
  if (dp_common_result(node, DSCALE)) out[DSCALE] = dp_build_reduce_to(b, dp_build2(b, "Mul", in[DY], n.h), scale);
  if (dp_common_result(node, DBIAS)) out[DBIAS] = dp_build_reduce_to(b, in[DY], scale);
}

dp_cost dp_normalization_grad_cost(const dp_node *node, int64_t n) {
  return dp_common_cost(node, n, 16 * (double)dp_shape_count(dp_common_shape(node, X), n));
}
