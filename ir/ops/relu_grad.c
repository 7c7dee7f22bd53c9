// dp.ReluGrad(dy, y): 0 where y <= 0, dy elsewhere. y is Relu's result; dy comes first so that dx may reuse its memory.
#include "ir/ops/elementwise.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_common_expect("the gradient", dp_common_shape(node, 0), dp_common_shape(node, 1)));
  return dp_common_infer_same(node);
}

static void placements(dp_sharding_rules *rules) {
  dp_elementwise_sharding(rules);
  dp_sharding_linear(rules, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[N,3]", .n = 5},
    {.inputs = "float32[2,N,4], float32[2,N,4]", .n = 3},
    {0},
};

const dp_op dp_op_ReluGrad = {
    .name = "ReluGrad",
    .domain = "dp",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("dY", DP_FLOATS, 'T'), DP_OPERAND("Y", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("dX", DP_FLOATS, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = infer,
    .sharding = placements,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
