// See arg.h.
#include "ir/ops/arg.h"

#include <string.h>

dp_status dp_arg_infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  int axis;
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", 0), x->rank, &axis));
  if (dp_dim_is(x->dims[axis], 0))
    return dp_fail(EX_DATAERR, "dim %d is empty: it has no %s element", axis,
                   strcmp(node->op->name, "ArgMax") ? "smallest" : "largest");
  dp_shape y = {0};
  for (int d = 0; d < x->rank; d++) {
    if (d != axis)
      y.dims[y.rank++] = x->dims[d];
    else if (dp_node_int(node, "keepdims", 1))
      y.dims[y.rank++] = dp_dim_of(1);
  }
  dp_common_set(node, 0, DP_INT64, &y);
  return DP_OK;
}

void dp_arg_placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, 0);
  int axis = (int)dp_node_int(rules->node, "axis", 0), out = 0;
  if (axis < 0) axis += x->rank;
  bool keep = dp_node_int(rules->node, "keepdims", 1) != 0;
  for (int d = 0; d < x->rank; d++) {
    if (d != axis) dp_sharding_split(rules, x->dims[d], &d, &out);
    out += d != axis || keep;
  }
}

const dp_sample dp_arg_samples[] = {
    {.inputs = "float32[N,7]", .attrs = "axis=1, keepdims=0", .n = 5},
    {.inputs = "float32[3,N,2]", .attrs = "axis=-3, keepdims=0", .n = 4},
    {.inputs = "float32[6]", .attrs = "keepdims=0"},
    {.inputs = "int32[N,9]", .attrs = "axis=1", .n = 4, .low = 0, .high = 2},
    {.inputs = "int64[N,9]", .attrs = "axis=1, select_last_index=1", .n = 4, .low = 0, .high = 2},
    {.inputs = "uint8[2,9]", .attrs = "axis=1", .low = 0, .high = 4},
    {0},
};
