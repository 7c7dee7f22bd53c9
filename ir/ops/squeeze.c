// Squeeze: removes the dims `axes`, of extent 1, or all dims of extent 1 when none are named. Elements keep their
// order.
#include "ir/ops/reshape.h"

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  size_t count;
  const int64_t *axes = dp_node_ints(node, "axes", &count);
  bool out[DP_MAX_RANK] = {0}, named = dp_node_attr(node, "axes") != NULL;
  for (size_t i = 0; i < count; i++) {
    int axis;
    DP_TRY(dp_common_axis("axis", axes[i], x->rank, &axis));
    if (out[axis]) return dp_fail(EX_DATAERR, "axes names dim %d twice", axis);
    if (!dp_dim_is(x->dims[axis], 1)) return dp_fail(EX_DATAERR, "dim %d is removed, but its extent is not 1", axis);
    out[axis] = true;
  }
  dp_shape y = {0};
  for (int d = 0; d < x->rank; d++)
    if (named ? !out[d] : !dp_dim_is(x->dims[d], 1)) y.dims[y.rank++] = x->dims[d];
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,1,3,1]", .attrs = "axes=[1]", .n = 5},
    {.inputs = "float32[1,N,6]", .attrs = "axes=[-3]", .n = 3},
    {.inputs = "float32[N,1,6,1]", .n = 3},
    {.inputs = "int32[N,1]", .attrs = "axes=[1]", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[1]", .attrs = "axes=[0]", .low = -9, .high = 9},
    {.inputs = "uint8[2,1,4]", .low = 0, .high = 255},
    {.inputs = "bool[1,6]", .attrs = "axes=[0]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Squeeze = {
    .name = "Squeeze",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_STORED, 'T'), DP_AS_ATTR("axes", DP_BIT(DP_INT64), true)},
    .outputs = {DP_OPERAND("squeezed", DP_STORED, 'T')},
    .attrs = {DP_INTS_ATTR("axes")},
    .flags = DP_OP_ELEMENTWISE | DP_OP_POSITIONAL | DP_OP_VIEW,
    .infer = infer,
    .gradient = dp_reshape_gradient,
    .sharding = dp_reshape_sharding,
    .samples = samples,
};
