// Softmax along an axis. dx = y (dy - sum(y dy)).
#include "ir/ops/softmax.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *y = node->outputs[0], *sum = dp_softmax_sum(b, node, dp_build2(b, "Mul", dy[0], y));
  dx[0] = dp_build2(b, "Mul", dp_build2(b, "Sub", dy[0], sum), y);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,5]", .n = 4, .low = -3, .high = 3},
    {.inputs = "float32[N,5,2]", .attrs = "axis=1", .n = 3, .low = -30, .high = 30},
    {.inputs = "float32[3,N]", .attrs = "axis=0", .n = 4},
    {.inputs = "bfloat16[N,3]", .n = 5},
    {0},
};

const dp_op dp_op_Softmax = {
    .name = "Softmax",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 'T')},
    .attrs = {DP_INT_ATTR("axis", -1)},
    .precision = DP_PRECISION_FULL,
    .infer = dp_softmax_infer,
    .gradient = gradient,
    .sharding = dp_softmax_sharding,
    .row = dp_common_row,
    .cost = dp_softmax_cost,
    .samples = samples,
};
