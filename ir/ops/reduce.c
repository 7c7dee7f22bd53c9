// Reductions over axes. See reduce.h.
#include "ir/ops/reduce.h"

dp_status dp_reduce_axes(const dp_node *node, int rank, bool reduced[DP_MAX_RANK]) {
  size_t count;
  const int64_t *axes = dp_node_ints(node, "axes", &count);
  bool all = !count && !dp_node_int(node, "noop_with_empty_axes", 0);
  for (int d = 0; d < DP_MAX_RANK; d++) reduced[d] = all && d < rank;
  for (size_t i = 0; i < count; i++) {
    int axis;
    DP_TRY(dp_common_axis("axis", axes[i], rank, &axis));
    if (reduced[axis]) return dp_fail(EX_DATAERR, "axes names dim %d twice", axis);
    reduced[axis] = true;
  }
  return DP_OK;
}

dp_status dp_reduce_infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  bool reduced[DP_MAX_RANK], keep = dp_node_int(node, "keepdims", 1) != 0;
  DP_TRY(dp_reduce_axes(node, x->rank, reduced));
  dp_shape y = {0};
  for (int d = 0; d < x->rank; d++) {
    if (!reduced[d])
      y.dims[y.rank++] = x->dims[d];
    else if (keep)
      y.dims[y.rank++] = dp_dim_of(1);
  }
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

int dp_reduce_row(const dp_node *node, int rank) {
  bool reduced[DP_MAX_RANK];
  dp_status status = dp_reduce_axes(node, rank, reduced);
  if (status) dp_status_free(status);
  if (status || !dp_node_int(node, "keepdims", 1)) return 0;
  int first = 0;
  while (first < rank && !reduced[first]) first++;
  return first;
}

void dp_reduce_sharding(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, 0);
  bool reduced[DP_MAX_RANK], keep = dp_node_int(rules->node, "keepdims", 1) != 0;
  dp_status status = dp_reduce_axes(rules->node, x->rank, reduced);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  int result = 0;
  for (int d = 0; d < x->rank; d++) {
    int in[DP_MAX_OPERANDS] = {d, DP_WHOLE}, out = reduced[d] ? DP_SUMMED : result;
    dp_sharding_split(rules, x->dims[d], in, &out);
    result += !reduced[d] || keep;
  }
  dp_sharding_linear(rules, 1);
}

dp_value *dp_reduce_expand(dp_builder *builder, const dp_node *node, dp_value *dy) {
  const dp_shape *x = dp_common_shape(node, 0);
  bool reduced[DP_MAX_RANK];
  dp_status status = dp_reduce_axes(node, x->rank, reduced);
  if (status) {
    dp_status_free(status);
    return dy;
  }
  dp_shape kept = *x;
  for (int d = 0; d < x->rank; d++)
    if (reduced[d]) kept.dims[d] = dp_dim_of(1);
  dp_value *same_rank = dp_build_reshape(builder, dy, &kept);
  if (dp_shape_equal(&kept, x)) return same_rank;
  dp_attr shape = dp_attr_dims(builder->graph->arena, "shape", x);
  return dp_build(builder, "Expand", 1, &same_rank, 1, 1, &shape);
}

dp_cost dp_reduce_cost(const dp_node *node, int64_t n) {
  return dp_common_cost(node, n, (double)dp_shape_count(dp_common_shape(node, 0), n));
}
