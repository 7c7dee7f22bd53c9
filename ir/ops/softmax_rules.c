// Shared by Softmax and LogSoftmax. See softmax.h.
#include "ir/ops/softmax.h"

static int axis_of(const dp_node *node) {
  int64_t axis = dp_node_int(node, "axis", -1);
  return (int)(axis < 0 ? axis + dp_common_shape(node, 0)->rank : axis);
}

dp_status dp_softmax_infer(dp_node *node) {
  int axis;
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", -1), dp_common_shape(node, 0)->rank, &axis));
  return dp_common_infer_same(node);
}

void dp_softmax_sharding(dp_sharding_rules *rules) { dp_sharding_split_but(rules, axis_of(rules->node)); }

dp_value *dp_softmax_sum(dp_builder *builder, const dp_node *node, dp_value *x) {
  int64_t axis = axis_of(node);
  return dp_build_reduce(builder, "ReduceSum", x, &axis, 1, true);
}

dp_cost dp_softmax_cost(const dp_node *node, int64_t n) {
  return dp_common_cost(node, n, 4 * (double)dp_shape_count(dp_common_shape(node, 0), n));
}
