// dp.ConvGradInput(w, dy) {shape = x's}: the gradient of Conv's x; ConvTranspose too.
#include "ir/ops/conv.h"

#include <string.h>

static dp_status infer(dp_node *node) {
  dp_geometry geometry;
  dp_shape x, y;
  DP_TRY(dp_common_shape_attr(node, "shape", &x));
  DP_TRY(dp_conv_result(node, &x, dp_common_shape(node, 0), &geometry, &y));
  DP_TRY(dp_common_expect("the gradient", dp_common_shape(node, 1), &y));
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &x);
  return DP_OK;
}

// Linear in both: dX's gradient is convolved in its turn.
static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_arena *arena = b->graph->arena;
  dp_attr *attrs = dp_alloc_n(arena, (size_t)node->n_attrs + 1, sizeof *attrs);
  int n_attrs = 0;
  for (int i = 0; i < node->n_attrs; i++)
    if (strcmp(node->attrs[i].name, "shape")) attrs[n_attrs++] = node->attrs[i];
  dx[1] = dp_build(b, "Conv", 2, (dp_value *[]){dy[0], node->inputs[0]}, 1, n_attrs, attrs);
  attrs[n_attrs++] = dp_attr_dims(arena, "shape", dp_common_shape(node, 0));
  dx[0] = dp_build(b, "dp.ConvGradWeight", 2, (dp_value *[]){dy[0], node->inputs[1]}, 1, n_attrs, attrs);
}

static void placements(dp_sharding_rules *rules) {
  dp_conv_sharding(rules, (dp_conv_positions){DP_CONV_RESULT, 0, 1, DP_CONV_ABSENT});
}

static dp_cost cost(const dp_node *node, int64_t n) {
  return dp_conv_cost(node, n, dp_common_shape(node, 0), dp_common_shape(node, 1));
}

static const dp_sample samples[] = {
    {.inputs = "float32[4,3,3,3], float32[N,4,5,6]", .attrs = "shape=[N,3,5,6], pads=[1,1,1,1]", .n = 3},
    {.inputs = "float32[3,2,3,2], float32[N,3,3,5]",
     .attrs = "shape=[N,2,7,5], kernel_shape=[3,2], strides=[2,1], pads=[1,0,0,1]",
     .n = 2},
    {.inputs = "float32[6,2,3,3], float32[N,6,3,3]",
     .attrs = "shape=[N,4,6,6], group=2, auto_pad=\"SAME_UPPER\", strides=[2,2]",
     .n = 2},
    {.inputs = "float32[2,2,3,3], float32[N,2,3,1]", .attrs = "shape=[N,2,7,7], dilations=[2,3]", .n = 2},
    {.inputs = "float32[2,3,3], float32[N,2,5]", .attrs = "shape=[N,3,9], strides=[2], pads=[1,1]", .n = 3},
    {.inputs = "float32[2,2,2,2,2], float32[N,2,4,2,4]", .attrs = "shape=[N,2,4,3,4], pads=[1,0,0,0,0,1]", .n = 2},
    {0},
};

const dp_op dp_op_ConvGradInput = {
    .name = "ConvGradInput",
    .domain = "dp",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("W", DP_FLOATS, 'T'), DP_OPERAND("dY", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("dX", DP_FLOATS, 'T')},
    .attrs = {DP_CONV_ATTRS, DP_SHAPE_ATTR("shape")},
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .cost = cost,
    .samples = samples,
};
