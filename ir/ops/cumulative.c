// Shared by CumSum and CumProd. See cumulative.h.
#include "ir/ops/cumulative.h"

int dp_cumulative_axis(const dp_node *node) {
  int64_t axis = dp_node_int(node, "axis", 0);
  return (int)(axis < 0 ? axis + dp_common_shape(node, 0)->rank : axis);
}

dp_status dp_cumulative_infer(dp_node *node) {
  int axis;
  if (!dp_node_attr(node, "axis")) return dp_fail(EX_DATAERR, "axis is missing");
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", 0), dp_common_shape(node, 0)->rank, &axis));
  return dp_common_infer_same(node);
}
