// MaxPool over 1 to 3 spatial dims. Padding is never the largest.
#include "ir/ops/geometry.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dx[0] = dp_build(b, "dp.MaxPoolGrad", 2, (dp_value *[]){node->inputs[0], dy[0]}, 1, node->n_attrs, node->attrs);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,2,6,6]", .attrs = "kernel_shape=[2,2], strides=[2,2]", .n = 3},
    {.inputs = "float32[N,1,8,5]", .attrs = "kernel_shape=[3,2], strides=[2,2], pads=[1,0,1,0], ceil_mode=1", .n = 2},
    {.inputs = "float32[N,1,4,5]", .attrs = "kernel_shape=[2,2], strides=[3,3], pads=[1,1,1,1], ceil_mode=1", .n = 2},
    {.inputs = "float32[N,2,5,5]", .attrs = "kernel_shape=[3,3], strides=[2,2], auto_pad=\"SAME_UPPER\"", .n = 2},
    {.inputs = "float32[N,2,7,7]", .attrs = "kernel_shape=[2,2], dilations=[2,3]", .n = 2},
    {.inputs = "float32[N,3,9]", .attrs = "kernel_shape=[3], strides=[2]", .n = 3},
    {.inputs = "float32[N,1,4,4,4]", .attrs = "kernel_shape=[2,2,2], strides=[2,1,2]", .n = 2},
    {.inputs = "uint8[N,2,5,6]", .attrs = "kernel_shape=[2,3], strides=[2,2]", .n = 2, .low = 0, .high = 255},
    {0},
};

#define TYPES (DP_FLOATS | DP_BIT(DP_INT8) | DP_BIT(DP_UINT8))

const dp_op dp_op_MaxPool = {
    .name = "MaxPool",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", TYPES, 'T')},
    .outputs = {DP_OPERAND("Y", TYPES, 'T')},
    .attrs = {DP_STRING_ATTR("auto_pad", "NOTSET"), DP_INT_ATTR("ceil_mode", 0), DP_INTS_ATTR("dilations"),
              DP_INTS_ATTR("kernel_shape"), DP_INTS_ATTR("pads"), DP_INTS_ATTR("strides")},
    .infer = dp_geometry_infer_pool,
    .gradient = gradient,
    .placements = dp_geometry_rows_pool,
    .samples = samples,
};
