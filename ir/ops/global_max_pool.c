// GlobalMaxPool: the largest element over all spatial dims, which stay with extent 1. Every program holds ReduceMax in
// its place.
#include "ir/ops/elementwise.h"

static dp_status infer(dp_node *node) {
  dp_shape y = *dp_common_shape(node, 0);
  char text[256];
  if (y.rank < 3)
    return dp_fail(EX_DATAERR, "the operand has shape %s; [N, C, spatial extents...] is expected",
                   dp_shape_print(&y, text, sizeof text));
  for (int d = 2; d < y.rank; d++) y.dims[d] = dp_dim_of(1);
  dp_common_set(node, 0, node->inputs[0]->type.dtype, &y);
  return DP_OK;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  int64_t axes[DP_MAX_RANK];
  int rank = dp_common_shape(node, 0)->rank;
  for (int d = 2; d < rank; d++) axes[d - 2] = d;
  out[0] = dp_build_reduce(b, "ReduceMax", in[0], axes, (size_t)rank - 2, true);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,4,5]", .n = 3},
    {.inputs = "float32[N,2,7]", .n = 5},
    {0},
};

const dp_op dp_op_GlobalMaxPool = {
    .name = "GlobalMaxPool",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
