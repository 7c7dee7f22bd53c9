// Shape: the extents of the operand, from dim `start` to before `end`.
#include "ir/ops/shape.h"

#include "ir/ops/common.h"

static int clamped(int64_t i, int rank) {
  if (i < 0) i += rank;
  return (int)(i < 0 ? 0 : i > rank ? rank : i);
}

void dp_shape_range(const dp_node *node, int rank, int *from, int *to) {
  *from = clamped(dp_node_int(node, "start", 0), rank);
  *to = clamped(dp_node_int(node, "end", rank), rank);
}

static dp_status infer(dp_node *node) {
  int rank = dp_common_shape(node, 0)->rank, from, to;
  dp_shape_range(node, rank, &from, &to);
  dp_shape y = {.rank = 1, .dims = {dp_dim_of(to > from ? to - from : 0)}};
  dp_common_set(node, 0, DP_INT64, &y);
  return DP_OK;
}

// Any placement of the operand works: a part knows the whole's extents.
static void placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, 0);
  int whole = DP_WHOLE;
  for (int d = 0; d < x->rank; d++) dp_sharding_split(rules, x->dims[d], &d, &whole);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,4]", .n = 5},
    {.inputs = "float32[2,N]", .attrs = "start=1", .n = 3},
    {.inputs = "int32[N]", .attrs = "end=-1", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[2,3,4]", .attrs = "start=-2, end=3", .low = -9, .high = 9},
    {.inputs = "uint8[]", .low = 0, .high = 9},
    {.inputs = "bool[2,0]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Shape = {
    .name = "Shape",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_STORED, 0)},
    .outputs = {DP_OPERAND("shape", DP_BIT(DP_INT64), 0)},
    .attrs = {DP_INT_ATTR("start", 0), {.name = "end", .kind = DP_ATTR_INT}},
    .flags = DP_OP_SHAPE_ONLY_0,
    .infer = infer,
    .sharding = placements,
    .samples = samples,
};
