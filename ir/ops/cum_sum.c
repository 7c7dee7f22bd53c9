// CumSum: each element the sum of those up to it along `axis`; without itself when exclusive, from the end when
// reverse. Linear; its gradient is the same in the other direction.
#include "ir/ops/common.h"

static int axis_of(const dp_node *node) {
  int64_t axis = dp_node_int(node, "axis", 0);
  return (int)(axis < 0 ? axis + dp_common_shape(node, 0)->rank : axis);
}

static dp_status infer(dp_node *node) {
  int axis;
  if (!dp_node_attr(node, "axis")) return dp_fail(EX_DATAERR, "axis is missing");
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", 0), dp_common_shape(node, 0)->rank, &axis));
  return dp_common_infer_same(node);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_attr attrs[] = {dp_attr_int("axis", axis_of(node)), dp_attr_int("exclusive", dp_node_int(node, "exclusive", 0)),
                     dp_attr_int("reverse", !dp_node_int(node, "reverse", 0))};
  dx[0] = dp_build(b, "CumSum", 1, dy, 1, 3, attrs);
}

static void placements(dp_rows *rows) {
  dp_rows_split_but(rows, axis_of(rows->node));
  dp_rows_linear(rows, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,5]", .attrs = "axis=1", .n = 4},
    {.inputs = "float32[3,N,2]", .attrs = "axis=-2, exclusive=1", .n = 4},
    {.inputs = "float32[N,4]", .attrs = "axis=1, reverse=1", .n = 3},
    {.inputs = "float32[N,4]", .attrs = "axis=1, reverse=1, exclusive=1", .n = 3},
    {.inputs = "int32[N,4]", .attrs = "axis=1", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[7]", .attrs = "axis=0", .low = -9, .high = 9},
    {0},
};

const dp_op dp_op_CumSum = {
    .name = "CumSum",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("x", DP_NUMBERS, 'T'), DP_AS_ATTR("axis", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), false)},
    .outputs = {DP_OPERAND("y", DP_NUMBERS, 'T')},
    .attrs = {{.name = "axis", .kind = DP_ATTR_INT}, DP_INT_ATTR("exclusive", 0), DP_INT_ATTR("reverse", 0)},
    .infer = infer,
    .gradient = gradient,
    .placements = placements,
    .samples = samples,
};
