// dp.MaxPoolGrad(x, dy): each dy goes to the largest element of its window, the first in row-major order among equals;
// overlapping windows add up. The maximum is searched again rather than kept.
#include "ir/ops/geometry.h"

static dp_status infer(dp_node *node) {
  dp_geometry geometry;
  dp_shape y;
  const dp_shape *x = dp_common_shape(node, 0);
  DP_TRY(dp_geometry_shapes(node, x, NULL, x->dims[1], &geometry, &y));
  DP_TRY(dp_common_expect("the gradient", dp_common_shape(node, 1), &y));
  return dp_common_infer_same(node);
}

static void placements(dp_sharding_rules *rules) {
  dp_geometry_sharding_pool(rules);
  dp_sharding_linear(rules, 2);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,2,6,6], float32[N,2,3,3]", .attrs = "kernel_shape=[2,2], strides=[2,2]", .n = 3},
    {.inputs = "float32[N,1,8,5], float32[N,1,5,3]",
     .attrs = "kernel_shape=[3,2], strides=[2,2], pads=[1,0,1,0], ceil_mode=1",
     .n = 2},
    {.inputs = "float32[N,2,5,5], float32[N,2,3,3]",
     .attrs = "kernel_shape=[3,3], strides=[2,2], auto_pad=\"SAME_UPPER\"",
     .n = 2},
    {.inputs = "float32[N,2,7,7], float32[N,2,5,4]", .attrs = "kernel_shape=[2,2], dilations=[2,3]", .n = 2},
    {.inputs = "float32[N,3,9], float32[N,3,4]", .attrs = "kernel_shape=[3], strides=[2]", .n = 3},
    {0},
};

const dp_op dp_op_MaxPoolGrad = {
    .name = "MaxPoolGrad",
    .domain = "dp",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("dY", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("dX", DP_FLOATS, 'T')},
    .attrs = {DP_STRING_ATTR("auto_pad", "NOTSET"), DP_INT_ATTR("ceil_mode", 0), DP_INTS_ATTR("dilations"),
              DP_INTS_ATTR("kernel_shape"), DP_INTS_ATTR("pads"), DP_INTS_ATTR("strides")},
    .infer = infer,
    .sharding = placements,
    .samples = samples,
};
