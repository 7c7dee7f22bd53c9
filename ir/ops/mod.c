// Mod, with broadcasting: C = A - k B with an integer k. The result has the sign of B, or with fmod=1 that of A; floats
// require fmod=1. An integer modulo 0 is an error of the data.
#include "ir/ops/elementwise.h"

static dp_status infer(dp_node *node) {
  if (dp_type_is_float(node->inputs[0]->type->dtype) && !dp_node_int(node, "fmod", 0))
    return dp_fail(EX_DATAERR, "fmod is 0, but floats need 1");
  return dp_elementwise_infer(node);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_elementwise_give(b, node, 0, dy[0], dx);
  dp_value *multiple = dp_build2(b, "Sub", node->outputs[0], node->inputs[0]);  // -k B
  dp_value *k = dp_build2(b, "Div", multiple, node->inputs[1]);
  dp_elementwise_give(b, node, 1, dp_build2(b, "Mul", dy[0], k), dx);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[N,3]", .attrs = "fmod=1", .n = 5, .low = 0.5, .high = 4},
    {.inputs = "float32[N,1,4], float32[3,1]", .attrs = "fmod=1", .n = 3, .low = -4, .high = -0.5},
    {.inputs = "int32[N,3], int32[3]", .n = 4, .low = -50, .high = -3},
    {.inputs = "int64[2,3], int64[]", .low = 2, .high = 60},
    {.inputs = "int64[2,7], int64[2,7]", .attrs = "fmod=1", .low = -40, .high = -1},
    {.inputs = "uint8[5], uint8[5]", .low = 3, .high = 200},
    {0},
};

const dp_op dp_op_Mod = {
    .name = "Mod",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("A", DP_NUMBERS, 'T'), DP_OPERAND("B", DP_NUMBERS, 'T')},
    .outputs = {DP_OPERAND("C", DP_NUMBERS, 'T')},
    .attrs = {DP_INT_ATTR("fmod", 0)},
    .flags = DP_OP_ELEMENTWISE,
    .refuses = dp_elementwise_refuses_zero,
    .infer = infer,
    .gradient = gradient,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
