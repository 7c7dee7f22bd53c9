// LogSoftmax along an axis. dx = dy - exp(y) sum(dy).
#include "ir/ops/softmax.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *p = dp_build1(b, "Exp", node->outputs[0]), *sum = dp_softmax_sum(b, node, dy[0]);
  dx[0] = dp_build2(b, "Sub", dy[0], dp_build2(b, "Mul", p, sum));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,5]", .n = 4, .low = -3, .high = 3},
    {.inputs = "float32[N,5,2]", .attrs = "axis=1", .n = 3, .low = -30, .high = 30},
    {.inputs = "float32[3,N]", .attrs = "axis=0", .n = 4},
    {0},
};

const dp_op dp_op_LogSoftmax = {
    .name = "LogSoftmax",
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
