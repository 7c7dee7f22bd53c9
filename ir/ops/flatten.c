// Flatten: a matrix of the dims before `axis` and those from it on. The elements keep their order.
#include "ir/ops/reshape.h"

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  int64_t axis = dp_node_int(node, "axis", 1);
  if (axis < -x->rank || axis > x->rank)
    return dp_fail(EX_DATAERR, "axis %lld is out of range for a tensor of rank %d: expected %d to %d", (long long)axis,
                   x->rank, -x->rank, x->rank);
  int cut = (int)(axis < 0 ? axis + x->rank : axis);
  dp_shape y = {.rank = 2};
  char text[256];
  if (!dp_shape_product(x, 0, cut, &y.dims[0]) || !dp_shape_product(x, cut, x->rank, &y.dims[1]))
    return dp_fail(EX_DATAERR, "shape %s flattens to an extent that is not of the form a * N + b",
                   dp_shape_print(x, text, sizeof text));
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,4,3]", .n = 5},
    {.inputs = "float32[N,4,3]", .attrs = "axis=-1", .n = 5},
    {.inputs = "float32[N,4,3]", .attrs = "axis=0", .n = 2},
    {.inputs = "int32[N,2,2]", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[6]", .attrs = "axis=0", .low = -9, .high = 9},
    {.inputs = "uint8[N,1,4]", .n = 3, .low = 0, .high = 255},
    {.inputs = "bool[2,3]", .attrs = "axis=2", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Flatten = {
    .name = "Flatten",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_STORED, 'T')},
    .outputs = {DP_OPERAND("output", DP_STORED, 'T')},
    .attrs = {DP_INT_ATTR("axis", 1)},
    .flags = DP_OP_ELEMENTWISE | DP_OP_POSITIONAL | DP_OP_VIEW,
    .infer = infer,
    .gradient = dp_reshape_gradient,
    .sharding = dp_reshape_sharding,
    .samples = samples,
};
