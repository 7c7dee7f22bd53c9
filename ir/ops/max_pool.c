// MaxPool over 1 to 3 spatial dims. Padding is never the largest. The optional Indices give the positions of the
// largest elements, counted over the whole operand in row-major order (storage_order=1: the spatial dims in
// column-major order).
#include <string.h>

#include "ir/ops/geometry.h"

static dp_status infer(dp_node *node) {
  int64_t order = dp_node_int(node, "storage_order", 0);
  if (order != 0 && order != 1)
    return dp_fail(EX_DATAERR, "storage_order is %lld where 0 or 1 is expected", (long long)order);
  DP_TRY(dp_geometry_infer_pool(node));
  dp_common_set(node, 1, DP_INT64, &node->outputs[0]->type->shape);
  return DP_OK;
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_attr *attrs = dp_alloc_n(b->graph->arena, (size_t)node->n_attrs + 1, sizeof *attrs);
  int n_attrs = 0;
  for (int i = 0; i < node->n_attrs; i++)
    if (strcmp(node->attrs[i].name, "storage_order")) attrs[n_attrs++] = node->attrs[i];
  if (dy[0]) dx[0] = dp_build(b, "dp.MaxPoolGrad", 2, (dp_value *[]){node->inputs[0], dy[0]}, 1, n_attrs, attrs);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,2,6,6]", .attrs = "kernel_shape=[2,2], strides=[2,2]", .n = 3},
    {.inputs = "float32[N,1,8,5]", .attrs = "kernel_shape=[3,2], strides=[2,2], pads=[1,0,1,0], ceil_mode=1", .n = 2},
    {.inputs = "float32[N,1,4,5]", .attrs = "kernel_shape=[2,2], strides=[3,3], pads=[1,1,1,1], ceil_mode=1", .n = 2},
    {.inputs = "float32[N,2,5,5]", .attrs = "kernel_shape=[3,3], strides=[2,2], auto_pad=\"SAME_UPPER\"", .n = 2},
    {.inputs = "float32[N,2,7,7]", .attrs = "kernel_shape=[2,2], dilations=[2,3]", .n = 2},
    {.inputs = "float32[N,3,9]", .attrs = "kernel_shape=[3], strides=[2]", .n = 3},
    {.inputs = "float32[N,1,4,4,4]", .attrs = "kernel_shape=[2,2,2], strides=[2,1,2]", .n = 2},
    {.inputs = "float32[N,2,4,5]", .attrs = "kernel_shape=[2,2], storage_order=1", .n = 3},
    {.inputs = "uint8[N,2,5,6]", .attrs = "kernel_shape=[2,3], strides=[2,2]", .n = 2, .low = 0, .high = 255},
    {0},
};

#define TYPES (DP_FLOATS | DP_BIT(DP_INT8) | DP_BIT(DP_UINT8))

const dp_op dp_op_MaxPool = {
    .name = "MaxPool",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 2,
    .inputs = {DP_OPERAND("X", TYPES, 'T')},
    .outputs = {DP_OPERAND("Y", TYPES, 'T'), DP_OPTIONAL("Indices", DP_BIT(DP_INT64), 0)},
    .attrs = {DP_STRING_ATTR("auto_pad", "NOTSET"), DP_INT_ATTR("ceil_mode", 0), DP_INTS_ATTR("dilations"),
              DP_INTS_ATTR("kernel_shape"), DP_INTS_ATTR("pads"), DP_INT_ATTR("storage_order", 0),
              DP_INTS_ATTR("strides")},
    .infer = infer,
    .gradient = gradient,
    .sharding = dp_geometry_sharding_pool,
    .samples = samples,
};
