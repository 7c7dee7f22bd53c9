// Unsqueeze: inserts dims of extent 1, which become the result's dims `axes`. Elements keep their order.
#include "ir/ops/reshape.h"

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  size_t count;
  const int64_t *axes = dp_node_ints(node, "axes", &count);
  bool new[DP_MAX_RANK] = {0};
  if (!dp_node_attr(node, "axes")) return dp_fail(EX_DATAERR, "axes is missing");
  if (count > (size_t)(DP_MAX_RANK - x->rank))
    return dp_fail(EX_DATAERR, "the result would have %zu dims; tensors of up to %d are supported",
                   count + (size_t)x->rank, DP_MAX_RANK);
  dp_shape y = {.rank = x->rank + (int)count};
  for (size_t i = 0; i < count; i++) {
    int axis;
    DP_TRY(dp_common_axis("axis", axes[i], y.rank, &axis));
    if (new[axis]) return dp_fail(EX_DATAERR, "axes names dim %d twice", axis);
    new[axis] = true;
  }
  for (int d = 0, from = 0; d < y.rank; d++) y.dims[d] = new[d] ? dp_dim_of(1) : x->dims[from++];
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .attrs = "axes=[1]", .n = 5},
    {.inputs = "float32[N,6]", .attrs = "axes=[-1,0]", .n = 3},
    {.inputs = "float32[]", .attrs = "axes=[0]"},
    {.inputs = "int32[N]", .attrs = "axes=[1]", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[3]", .attrs = "axes=[0,2]", .low = -9, .high = 9},
    {.inputs = "uint8[2,4]", .attrs = "axes=[1]", .low = 0, .high = 255},
    {.inputs = "bool[6]", .attrs = "axes=[0]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Unsqueeze = {
    .name = "Unsqueeze",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_STORED, 'T'), DP_AS_ATTR("axes", DP_BIT(DP_INT64), false)},
    .outputs = {DP_OPERAND("expanded", DP_STORED, 'T')},
    .attrs = {DP_INTS_ATTR("axes")},
    .flags = DP_OP_ELEMENTWISE | DP_OP_POSITIONAL | DP_OP_VIEW,
    .infer = infer,
    .gradient = dp_reshape_gradient,
    .sharding = dp_reshape_sharding,
    .samples = samples,
};
