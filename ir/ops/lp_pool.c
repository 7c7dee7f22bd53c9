// LpPool: the p-norm of each window; padding counts as 0. Specialized into an AveragePool of the powers, over all
// positions of the window, and its root.
#include "ir/ops/compose.h"
#include "ir/ops/geometry.h"
#include "ir/ops/p_norm.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_p_norm_check(node));
  return dp_geometry_infer_pool(node);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  dp_arena *arena = b->graph->arena;
  dp_geometry g;
  dp_shape y;
  dp_status status =
      dp_geometry_shapes(node, dp_common_shape(node, 0), NULL, dp_common_shape(node, 0)->dims[1], &g, &y);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  int64_t pads[2 * DP_MAX_SPATIAL], elements = 1, p = dp_node_int(node, "p", 2);
  for (int i = 0; i < g.rank; i++) {  // the excess from ceil_mode becomes padding, so that every window is whole
    int64_t reach = (g.y[i] - 1) * g.stride[i] + (g.kernel[i] - 1) * g.dilation[i] + 1;
    pads[i] = g.pad_begin[i];
    pads[g.rank + i] = dp_max_i64(reach - g.x[i] - g.pad_begin[i], 0);
    elements *= g.kernel[i];
  }
  size_t rank = (size_t)g.rank;
  dp_attr attrs[] = {dp_attr_ints(arena, "dilations", g.dilation, rank),
                     dp_attr_ints(arena, "kernel_shape", g.kernel, rank),
                     dp_attr_ints(arena, "strides", g.stride, rank), dp_attr_ints(arena, "pads", pads, 2 * rank),
                     dp_attr_int("count_include_pad", 1)};
  dp_value *powers = dp_p_norm_power(b, in[0], p);
  dp_value *mean = dp_build(b, "AveragePool", 1, &powers, 1, DP_COUNT(attrs), attrs);
  out[0] = dp_p_norm_root(b, dp_elementwise_with(b, "Mul", mean, (double)elements), p);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,2,6,6]", .attrs = "kernel_shape=[2,2], strides=[2,2]", .n = 2},
    {.inputs = "float32[N,1,8,6]", .attrs = "kernel_shape=[3,3], strides=[2,2], pads=[1,0,1,1], p=3", .n = 2},
    {.inputs = "float32[N,1,6,7]", .attrs = "kernel_shape=[3,3], strides=[2,3], p=1, ceil_mode=1", .n = 2},
    {.inputs = "float32[N,2,5]", .attrs = "kernel_shape=[3], strides=[2], auto_pad=\"SAME_LOWER\"", .n = 2},
    {.inputs = "float32[N,2,7,7]", .attrs = "kernel_shape=[2,2], dilations=[2,3]", .n = 2},
    {0},
};

const dp_op dp_op_LpPool = {
    .name = "LpPool",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_STRING_ATTR("auto_pad", "NOTSET"), DP_INT_ATTR("ceil_mode", 0), DP_INTS_ATTR("dilations"),
              DP_INTS_ATTR("kernel_shape"), DP_INT_ATTR("p", 2), DP_INTS_ATTR("pads"), DP_INTS_ATTR("strides")},
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
