// Size: the number of elements of the operand.
#include "ir/ops/common.h"

static dp_status infer(dp_node *node) {
  dp_shape scalar = {0};
  dp_common_set(node, 0, DP_INT64, &scalar);
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
    {.inputs = "float32[2,N]", .n = 3},
    {.inputs = "int32[N]", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[2,3,4]", .low = -9, .high = 9},
    {.inputs = "uint8[]", .low = 0, .high = 9},
    {.inputs = "bool[2,0]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Size = {
    .name = "Size",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_STORED, 0)},
    .outputs = {DP_OPERAND("size", DP_BIT(DP_INT64), 0)},
    .flags = DP_OP_SHAPE_ONLY_0,
    .infer = infer,
    .sharding = placements,
    .samples = samples,
};
