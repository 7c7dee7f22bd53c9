// dp.AveragePoolGrad(dy) {shape = x's}: each dy is spread evenly over what AveragePool averaged. Linear.
#include "ir/ops/geometry.h"

static dp_status infer(dp_node *node) {
  dp_geometry geometry;
  dp_shape x, y;
  DP_TRY(dp_common_shape_attr(node, "shape", &x));
  DP_TRY(dp_geometry_shapes(node, &x, NULL, x.dims[1], &geometry, &y));
  DP_TRY(dp_common_expect("the gradient", dp_common_shape(node, 0), &y));
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &x);
  return DP_OK;
}

static void placements(dp_sharding_rules *rules) {
  dp_geometry_sharding_pool(rules);
  dp_sharding_linear(rules, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,2,3,3]", .attrs = "shape=[N,2,6,6], kernel_shape=[2,2], strides=[2,2]", .n = 3},
    {.inputs = "float32[N,1,5,4]",
     .attrs = "shape=[N,1,8,6], kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], ceil_mode=1, count_include_pad=1",
     .n = 2},
    {.inputs = "float32[N,2,3,3]",
     .attrs = "shape=[N,2,5,5], kernel_shape=[3,3], strides=[2,2], auto_pad=\"SAME_LOWER\"",
     .n = 2},
    {.inputs = "float32[N,2,5,4]", .attrs = "shape=[N,2,7,7], kernel_shape=[2,2], dilations=[2,3]", .n = 2},
    {.inputs = "float32[N,3,5]", .attrs = "shape=[N,3,9], kernel_shape=[3], strides=[2], pads=[1,1]", .n = 3},
    {0},
};

const dp_op dp_op_AveragePoolGrad = {
    .name = "AveragePoolGrad",
    .domain = "dp",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("dY", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("dX", DP_FLOATS, 'T')},
    .attrs = {DP_STRING_ATTR("auto_pad", "NOTSET"), DP_INT_ATTR("ceil_mode", 0), DP_INT_ATTR("count_include_pad", 0),
              DP_INTS_ATTR("dilations"), DP_INTS_ATTR("kernel_shape"), DP_INTS_ATTR("pads"), DP_INTS_ATTR("strides"),
              DP_SHAPE_ATTR("shape")},
    .infer = infer,
    .sharding = placements,
    .samples = samples,
};
