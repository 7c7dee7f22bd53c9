// Elements selected along one axis. See elements.h.
#include "ir/ops/elements.h"

int dp_elements_axis(const dp_node *node, int64_t otherwise) {
  int64_t axis = dp_node_int(node, "axis", otherwise);
  return (int)(axis < 0 ? axis + dp_common_shape(node, 0)->rank : axis);
}

dp_status dp_elements_check(const dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0), *indices = dp_common_shape(node, 1);
  char a[256], b[256];
  int axis;
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", 0), x->rank, &axis));
  bool fits = x->rank == indices->rank;
  for (int d = 0; fits && d < x->rank; d++) {
    dp_dim extent = x->dims[d], count = indices->dims[d];
    bool smaller = !dp_dim_is_symbolic(extent) && !dp_dim_is_symbolic(count) && count.offset <= extent.offset;
    fits = d == axis || smaller || dp_dim_equal(extent, count);
  }
  if (fits) return DP_OK;
  return dp_fail(EX_DATAERR, "indices of shape %s do not fit data of shape %s", dp_shape_print(indices, a, sizeof a),
                 dp_shape_print(x, b, sizeof b));
}

void dp_elements_sharding(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, 0), *indices = dp_common_shape(rules->node, 1);
  int axis = dp_elements_axis(rules->node, 0);
  for (int d = 0; d < x->rank; d++)
    if (d != axis && dp_dim_equal(x->dims[d], indices->dims[d]))
      dp_sharding_split(rules, x->dims[d], (int[]){d, d, d}, (int[]){d});
}

bool dp_elements_refuses(const dp_node *node, dp_refusal *refusal) {
  const dp_dim limit = dp_common_shape(node, 0)->dims[dp_elements_axis(node, 0)];
  *refusal = (dp_refusal){.operand = 1, .bounded = true, .limit = limit, .negative = true};
  return true;
}

dp_value *dp_elements_add(dp_builder *builder, const dp_node *node, const dp_shape *shape, dp_value *indices,
                          dp_value *updates) {
  dp_attr zeros[] = {dp_attr_dims(builder->graph->arena, "shape", shape), dp_attr_int("dtype", updates->type->dtype)};
  dp_attr add[] = {dp_attr_int("axis", dp_node_int(node, "axis", 0)), dp_attr_string("reduction", "add")};
  dp_value *in[] = {dp_build(builder, "dp.Fill", 0, NULL, 1, 2, zeros), indices, updates};
  return dp_build(builder, "ScatterElements", 3, in, 1, 2, add);
}
