// dp.ConvGradWeight(x, dy) {shape = w's}: the gradient of Conv's w, a sum over the samples.
#include "ir/ops/conv.h"

static dp_status infer(dp_node *node) {
  dp_geometry geometry;
  dp_shape w, y;
  DP_TRY(dp_common_shape_attr(node, "shape", &w));
  DP_TRY(dp_conv_result(node, dp_common_shape(node, 0), &w, &geometry, &y));
  DP_TRY(dp_common_expect("the gradient", dp_common_shape(node, 1), &y));
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &w);
  return DP_OK;
}

static void placements(dp_sharding_rules *rules) {
  dp_conv_sharding(rules, (dp_conv_positions){0, DP_CONV_RESULT, 1, DP_CONV_ABSENT});
}

static dp_cost cost(const dp_node *node, int64_t n) {
  return dp_conv_cost(node, n, &node->outputs[0]->type->shape, dp_common_shape(node, 1));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,5,6], float32[N,4,5,6]", .attrs = "shape=[4,3,3,3], pads=[1,1,1,1]", .n = 3},
    {.inputs = "float32[N,2,7,5], float32[N,3,3,5]",
     .attrs = "shape=[3,2,3,2], kernel_shape=[3,2], strides=[2,1], pads=[1,0,0,1]",
     .n = 2},
    {.inputs = "float32[N,4,6,6], float32[N,6,3,3]",
     .attrs = "shape=[6,2,3,3], group=2, auto_pad=\"SAME_UPPER\", strides=[2,2]",
     .n = 2},
    {.inputs = "float32[N,2,7,7], float32[N,2,3,1]", .attrs = "shape=[2,2,3,3], dilations=[2,3]", .n = 2},
    {.inputs = "float32[N,3,9], float32[N,2,5]", .attrs = "shape=[2,3,3], strides=[2], pads=[1,1]", .n = 3},
    {.inputs = "float32[N,2,4,3,4], float32[N,2,4,2,4]", .attrs = "shape=[2,2,2,2,2], pads=[1,0,0,0,0,1]", .n = 2},
    {0},
};

const dp_op dp_op_ConvGradWeight = {
    .name = "ConvGradWeight",
    .domain = "dp",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("dY", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("dW", DP_FLOATS, 'T')},
    .attrs = {DP_CONV_ATTRS, DP_SHAPE_ATTR("shape")},
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .sharding = placements,
    .cost = cost,
    .samples = samples,
};
