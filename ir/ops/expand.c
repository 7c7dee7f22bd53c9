// Expand: the operand broadcast with `shape` (in both directions, as ONNX defines).
#include "ir/ops/elementwise.h"

static dp_status infer(dp_node *node) {
  dp_shape shape, y;
  if (!dp_node_attr(node, "shape")) return dp_fail(EX_DATAERR, "shape is missing");
  DP_TRY(dp_common_shape_attr(node, "shape", &shape));
  DP_TRY(dp_shape_broadcast(dp_common_shape(node, 0), &shape, &y));
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_elementwise_give(b, node, 0, dy[0], dx);
}

static void placements(dp_sharding_rules *rules) {
  dp_elementwise_sharding(rules);
  dp_sharding_linear(rules, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[3,1]", .attrs = "shape=[N,3,4]", .n = 5},
    {.inputs = "float32[N,1]", .attrs = "shape=[3]", .n = 5},
    {.inputs = "float32[]", .attrs = "shape=[N,2]", .n = 3},
    {.inputs = "int32[3]", .attrs = "shape=[2,3]", .low = -9, .high = 9},
    {.inputs = "int64[1]", .attrs = "shape=[5]", .low = -9, .high = 9},
    {.inputs = "uint8[N,1]", .attrs = "shape=[N,3]", .n = 2, .low = 0, .high = 255},
    {.inputs = "bool[2,1]", .attrs = "shape=[2,3]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Expand = {
    .name = "Expand",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_ANY_TYPE, 'T'), DP_AS_ATTR("shape", DP_BIT(DP_INT64), false)},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 'T')},
    .attrs = {{.name = "shape", .kind = DP_ATTR_DIMS}},
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
