// GlobalLpPool: the p-norm over all spatial dims of [N, C, ...], which become 1. Every program holds powers, their sum and
// its root in its place.
#include "ir/ops/p_norm.h"

static dp_status infer(dp_node *node) {
  dp_shape y = *dp_common_shape(node, 0);
  char text[256];
  DP_TRY(dp_p_norm_check(node));
  if (y.rank < 3)
    return dp_fail(EX_DATAERR, "the operand has shape %s; [N, C, ...] with spatial dims is expected",
                   dp_shape_print(&y, text, sizeof text));
  for (int d = 2; d < y.rank; d++) y.dims[d] = dp_dim_of(1);
  dp_common_set(node, 0, node->inputs[0]->type.dtype, &y);
  return DP_OK;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  static const int64_t axes[] = {2, 3, 4, 5, 6, 7};
  int64_t p = dp_node_int(node, "p", 2);
  size_t n_axes = (size_t)dp_common_shape(node, 0)->rank - 2;
  dp_value *sum = dp_build_reduce(b, "ReduceSum", dp_p_norm_power(b, in[0], p), axes, n_axes, true);
  out[0] = dp_p_norm_root(b, sum, p);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,2,3,2]", .n = 3},
    {.inputs = "float32[N,2,4]", .attrs = "p=3", .n = 3},
    {.inputs = "float32[N,2,2,1,3]", .attrs = "p=1", .n = 2},
    {0},
};

const dp_op dp_op_GlobalLpPool = {
    .name = "GlobalLpPool",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_INT_ATTR("p", 2)},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
