// Sum: the sum of all operands, with broadcasting. Specialized into Adds.
#include "ir/ops/elementwise.h"

static dp_status infer(dp_node *node) {
  if (node->n_inputs > DP_MAX_REPEATED)
    return dp_fail(EX_DATAERR, "%d operands given; up to %d are supported", node->n_inputs, DP_MAX_REPEATED);
  return dp_elementwise_infer(node);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  dp_value *sum = dp_build1(b, "Identity", in[0]);
  for (int i = 1; i < node->n_inputs; i++) sum = dp_build2(b, "Add", sum, in[i]);
  out[0] = sum;
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[N,3], float32[N,3]", .n = 5},
    {.inputs = "float32[N,1,4], float32[3,1], float32[], float32[4]", .n = 4},
    {.inputs = "float32[N,3]", .n = 4},
    {0},
};

const dp_op dp_op_Sum = {
    .name = "Sum",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .variadic = true,
    .inputs = {DP_OPERAND("data_0", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("sum", DP_FLOATS, 'T')},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
