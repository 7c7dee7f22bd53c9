// ArgMin: the index of the smallest element along an axis; of equal ones the first, or the last on request. NaN counts
// as smaller than anything.
#include "ir/ops/common.h"

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  int axis;
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", 0), x->rank, &axis));
  if (dp_dim_is(x->dims[axis], 0)) return dp_fail(EX_DATAERR, "dim %d is empty: it has no smallest element", axis);
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

static void placements(dp_rows *rows) {
  const dp_shape *x = dp_common_shape(rows->node, 0);
  int axis = (int)dp_node_int(rows->node, "axis", 0), out = 0;
  if (axis < 0) axis += x->rank;
  bool keep = dp_node_int(rows->node, "keepdims", 1) != 0;
  for (int d = 0; d < x->rank; d++) {
    if (d != axis) dp_rows_split(rows, x->dims[d], &d, &out);
    out += d != axis || keep;
  }
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,7]", .attrs = "axis=1, keepdims=0", .n = 5},
    {.inputs = "float32[3,N,2]", .attrs = "axis=-3, keepdims=0", .n = 4},
    {.inputs = "float32[6]", .attrs = "keepdims=0"},
    {.inputs = "int32[N,9]", .attrs = "axis=1", .n = 4, .low = 0, .high = 2},
    {.inputs = "int64[N,9]", .attrs = "axis=1, select_last_index=1", .n = 4, .low = 0, .high = 2},
    {.inputs = "uint8[2,9]", .attrs = "axis=1", .low = 0, .high = 4},
    {0},
};

const dp_op dp_op_ArgMin = {
    .name = "ArgMin",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_NUMBERS, 0)},
    .outputs = {DP_OPERAND("reduced", DP_BIT(DP_INT64), 0)},
    .attrs = {DP_INT_ATTR("axis", 0), DP_INT_ATTR("keepdims", 1), DP_INT_ATTR("select_last_index", 0)},
    .infer = infer,
    .placements = placements,
    .samples = samples,
};
