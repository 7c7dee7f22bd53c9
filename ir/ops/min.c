// Min of two operands, with broadcasting. Where they are equal each gets half of the gradient, as in PyTorch.
#include "ir/ops/elementwise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_dtype dtype = node->outputs[0]->type.dtype;
  dp_value *is[2];
  for (int i = 0; i < 2; i++) is[i] = dp_build_cast(b, dp_build2(b, "Equal", node->inputs[i], node->outputs[0]), dtype);
  dp_value *share = dp_build2(b, "Div", dy[0], dp_build2(b, "Add", is[0], is[1]));
  for (int i = 0; i < 2; i++) dp_elementwise_give(b, node, i, dp_build2(b, "Mul", share, is[i]), dx);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[N,3]", .n = 5},
    {.inputs = "float32[N,1,4], float32[3,1]", .n = 6},
    {.inputs = "int32[N,3], int32[3]", .n = 4, .low = -50, .high = 50},
    {.inputs = "int64[2,3], int64[]", .low = -50, .high = 50},
    {.inputs = "uint8[5], uint8[5]", .low = 0, .high = 200},
    {0},
};

const dp_op dp_op_Min = {
    .name = "Min",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("A", DP_NUMBERS, 'T'), DP_OPERAND("B", DP_NUMBERS, 'T')},
    .outputs = {DP_OPERAND("min", DP_NUMBERS, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_elementwise_infer,
    .gradient = gradient,
    .placements = dp_elementwise_rows,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
