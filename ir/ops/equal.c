// Equal, with broadcasting: bool. As in IEEE 754, NaN equals nothing.
#include "ir/ops/elementwise.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_elementwise_infer(node));
  dp_common_set(node, 0, DP_BOOL, &node->outputs[0]->type->shape);
  return DP_OK;
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[1,3]", .n = 5},
    {.inputs = "int32[N,3], int32[3]", .n = 8, .low = 0, .high = 2},
    {.inputs = "int64[N], int64[N]", .n = 9, .low = 0, .high = 3},
    {.inputs = "uint8[2,4], uint8[2,4]", .low = 0, .high = 2},
    {.inputs = "bool[2,4], bool[2,4]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Equal = {
    .name = "Equal",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("A", DP_ANY_TYPE, 'T'), DP_OPERAND("B", DP_ANY_TYPE, 'T')},
    .outputs = {DP_OPERAND("C", DP_BIT(DP_BOOL), 0)},
    .flags = DP_OP_ELEMENTWISE,
    .infer = infer,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
