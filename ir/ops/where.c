// Where: X where the condition holds, else Y, with broadcasting. Linear in X and Y together.
#include "ir/ops/elementwise.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_elementwise_infer(node));
  dp_common_set(node, 0, node->inputs[1]->type->dtype, &node->outputs[0]->type->shape);
  return DP_OK;
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *zero = dp_build_fill(b, dy[0]->type->dtype, 0), *condition = node->inputs[0];
  dp_value *to_x = dp_build(b, "Where", 3, (dp_value *[]){condition, dy[0], zero}, 1, 0, NULL);
  dp_value *to_y = dp_build(b, "Where", 3, (dp_value *[]){condition, zero, dy[0]}, 1, 0, NULL);
  dp_elementwise_give(b, node, 1, to_x, dx);
  dp_elementwise_give(b, node, 2, to_y, dx);
}

static void placements(dp_sharding_rules *rules) {
  dp_elementwise_sharding(rules);
  dp_sharding_linear(rules, 6);
}

static const dp_sample samples[] = {
    {.inputs = "bool[N,3], float32[N,3], float32[N,3]", .n = 5, .low = 0, .high = 1},
    {.inputs = "bool[4,4], float32[N,2,4,4], float32[1]", .n = 2, .low = 0, .high = 1},
    {.inputs = "bool[N,1,4], float32[], float32[3,1]", .n = 3, .low = 0, .high = 1},
    {.inputs = "bool[N], int32[N], int32[]", .n = 9, .low = 0, .high = 1},
    {.inputs = "bool[2,3], int64[3], int64[2,3]", .low = 0, .high = 1},
    {.inputs = "bool[6], uint8[6], uint8[1]", .low = 0, .high = 1},
    {.inputs = "bool[6], bool[6], bool[6]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Where = {
    .name = "Where",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("condition", DP_BIT(DP_BOOL), 0), DP_OPERAND("X", DP_ANY_TYPE, 'T'),
               DP_OPERAND("Y", DP_ANY_TYPE, 'T')},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
