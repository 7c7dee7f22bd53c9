// GlobalLpPool: the p-norm over all spatial dims of [N, C, ...], which become 1. Specialized into powers, their sum and
// its root.
#include "ir/ops/global_pool.h"
#include "ir/ops/p_norm.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_p_norm_check(node));
  return dp_global_pool_infer(node);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  int64_t p = dp_node_int(node, "p", 2);
  out[0] = dp_p_norm_root(b, dp_global_pool_reduce(b, "ReduceSum", dp_p_norm_power(b, in[0], p)), p);
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
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
