// GatherElements: for each position of the indices, the element of data at that position, except that the index
// replaces the coordinate along `axis`; a negative index counts from the end. Linear in data. A part of data along the
// axis gives zeros for elements of other parts, so that the sum over the parts is the result.
#include "ir/ops/elements.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_elements_check(node));
  dp_common_set(node, 0, node->inputs[0]->type->dtype, dp_common_shape(node, 1));
  return DP_OK;
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dx[0] = dp_elements_add(b, node, dp_common_shape(node, 0), node->inputs[1], dy[0]);
}

static void placements(dp_sharding_rules *rules) {
  int axis = dp_elements_axis(rules->node, 0);
  dp_elements_sharding(rules);
  if (rules->node->inputs[0]->type->dtype != DP_BOOL)
    dp_sharding_split(rules, dp_common_shape(rules->node, 0)->dims[axis], (int[]){axis, DP_WHOLE}, (int[]){DP_SUMMED});
  dp_sharding_linear(rules, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,5], int64[N,7]", .attrs = "axis=1", .n = 4, .low = -5, .high = 4},
    {.inputs = "float32[6,N,2], int32[3,N,2]", .n = 3, .low = 0, .high = 5},
    {.inputs = "float32[3,4], int64[2,1]", .attrs = "axis=-2", .low = 0, .high = 2},
    {.inputs = "int32[N,4], int64[N,2]", .attrs = "axis=1", .n = 3, .low = 0, .high = 3},
    {.inputs = "int64[5], int64[9]", .low = 0, .high = 4},
    {.inputs = "uint8[5], int64[4]", .low = 0, .high = 4},
    {.inputs = "bool[2,2], int64[2,3]", .attrs = "axis=1", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_GatherElements = {
    .name = "GatherElements",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_ANY_TYPE, 'T'), DP_OPERAND("indices", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), 0)},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 'T')},
    .attrs = {DP_INT_ATTR("axis", 0)},
    .refuses = dp_elements_refuses,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
