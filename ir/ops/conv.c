// Conv: cross-correlation over 1 to 3 spatial dims. X [N, C, ...], W [M, C/group, ...], B [M].
//
// The same kernel computes a part of the channels: a device's groups follow from its own extents (dp_geometry_groups).
#include "ir/ops/conv.h"

static dp_status infer(dp_node *node) {
  dp_geometry geometry;
  dp_shape y;
  DP_TRY(dp_conv_result(node, dp_common_shape(node, 0), dp_common_shape(node, 1), &geometry, &y));
  if (dp_common_operand(node, 2)) {
    dp_shape expected = {.rank = 1, .dims = {y.dims[1]}};
    DP_TRY(dp_common_expect("B", dp_common_shape(node, 2), &expected));
  }
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static dp_value *gradient_of(dp_builder *b, const dp_node *node, const char *op, dp_value *x, dp_value *dy,
                             const dp_shape *shape) {
  dp_arena *arena = b->graph->arena;
  dp_attr *attrs = dp_common_attrs_and(arena, node, dp_attr_dims(arena, "shape", shape));
  return dp_build(b, op, 2, (dp_value *[]){x, dy}, 1, node->n_attrs + 1, attrs);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dx[0] = gradient_of(b, node, "dp.ConvGradInput", node->inputs[1], dy[0], dp_common_shape(node, 0));
  dx[1] = gradient_of(b, node, "dp.ConvGradWeight", node->inputs[0], dy[0], dp_common_shape(node, 1));
  if (!dp_common_operand(node, 2)) return;
  int64_t axes[DP_MAX_RANK] = {0};
  int rank = dy[0]->type->shape.rank;
  for (int d = 2; d < rank; d++) axes[d - 1] = d;
  dx[2] = dp_build_reduce(b, "ReduceSum", dy[0], axes, (size_t)rank - 1, false);
}

static void placements(dp_sharding_rules *rules) {
  dp_conv_sharding(rules, (dp_conv_positions){0, 1, DP_CONV_RESULT, 2});
}

// The bias separately, so that a split over the input channels can leave it out of the partial sums.
static void decompose(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  if (node->n_inputs < 3 || !in[2]) return;
  dp_shape shape = {.rank = dp_common_shape(node, 0)->rank};
  for (int d = 0; d < shape.rank; d++) shape.dims[d] = d == 1 ? dp_common_shape(node, 2)->dims[0] : dp_dim_of(1);
  dp_value *y = dp_build(b, "Conv", 2, in, 1, node->n_attrs, node->attrs);
  out[0] = dp_build2(b, "Add", y, dp_build_reshape(b, in[2], &shape));
}

static dp_cost cost(const dp_node *node, int64_t n) {
  return dp_conv_cost(node, n, dp_common_shape(node, 1), &node->outputs[0]->type->shape);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,5,6], float32[4,3,3,3], float32[4]", .attrs = "pads=[1,1,1,1]", .n = 3},
    {.inputs = "float32[N,2,7,5], float32[3,2,3,2]",
     .attrs = "kernel_shape=[3,2], strides=[2,1], pads=[1,0,0,1]",
     .n = 2},
    {.inputs = "float32[N,4,6,6], float32[6,2,3,3], float32[6]",
     .attrs = "group=2, auto_pad=\"SAME_UPPER\", strides=[2,2]",
     .n = 2},
    {.inputs = "float32[N,6,4,4], float32[6,1,2,2]", .attrs = "group=6, auto_pad=\"SAME_LOWER\"", .n = 5},
    {.inputs = "float32[N,2,7,7], float32[2,2,3,3]", .attrs = "dilations=[2,3], auto_pad=\"VALID\"", .n = 2},
    {.inputs = "float32[N,3,9], float32[2,3,3], float32[2]", .attrs = "strides=[2], pads=[1,1]", .n = 3},
    {.inputs = "float32[N,2,4,3,4], float32[2,2,2,2,2]", .attrs = "pads=[1,0,0,0,0,1]", .n = 2},
    {0},
};

const dp_op dp_op_Conv = {
    .name = "Conv",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("W", DP_FLOATS, 'T'), DP_OPTIONAL("B", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_CONV_ATTRS},
    .flags = DP_OP_CONVOLUTION,
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .decompose = decompose,
    .cost = cost,
    .samples = samples,
};
