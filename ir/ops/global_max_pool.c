// GlobalMaxPool: the largest element over all spatial dims, which are kept with extent 1. Specialized into ReduceMax.
#include "ir/ops/global_pool.h"

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)node, (void)training;
  out[0] = dp_global_pool_reduce(b, "ReduceMax", in[0]);
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
    .infer = dp_global_pool_infer,
    .specialize = specialize,
    .samples = samples,
};
