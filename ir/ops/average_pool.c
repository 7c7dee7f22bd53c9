// AveragePool over 1 to 3 spatial dims: the mean of a window, over the elements that are not padding unless
// count_include_pad (elements beyond the padding, from ceil_mode, never count). Linear.
#include "ir/ops/geometry.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_arena *arena = b->graph->arena;
  dp_attr *attrs = dp_common_attrs_and(arena, node, dp_attr_dims(arena, "shape", dp_common_shape(node, 0)));
  dx[0] = dp_build(b, "dp.AveragePoolGrad", 1, dy, 1, node->n_attrs + 1, attrs);
}

static void placements(dp_sharding_rules *rules) {
  dp_geometry_sharding_pool(rules);
  dp_sharding_linear(rules, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,2,6,6]", .attrs = "kernel_shape=[2,2], strides=[2,2]", .n = 3},
    {.inputs = "float32[N,1,8,6]",
     .attrs = "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], ceil_mode=1, count_include_pad=1",
     .n = 2},
    {.inputs = "float32[N,2,5,5]", .attrs = "kernel_shape=[3,3], strides=[2,2], auto_pad=\"SAME_LOWER\"", .n = 2},
    {.inputs = "float32[N,2,7,7]", .attrs = "kernel_shape=[2,2], dilations=[2,3]", .n = 2},
    {.inputs = "float32[N,3,9]", .attrs = "kernel_shape=[3], strides=[2], pads=[1,1]", .n = 3},
    {0},
};

const dp_op dp_op_AveragePool = {
    .name = "AveragePool",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_STRING_ATTR("auto_pad", "NOTSET"), DP_INT_ATTR("ceil_mode", 0), DP_INT_ATTR("count_include_pad", 0),
              DP_INTS_ATTR("dilations"), DP_INTS_ATTR("kernel_shape"), DP_INTS_ATTR("pads"), DP_INTS_ATTR("strides")},
    .infer = dp_geometry_infer_pool,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
