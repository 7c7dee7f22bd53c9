// IsInf: bool; optionally of one sign only.
#include "ir/ops/piecewise.h"

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5},
    {.inputs = "float32[2,N,4]", .attrs = "detect_negative=0", .n = 3},
    {.inputs = "float32[2,N]", .attrs = "detect_positive=0", .n = 3},
    {0},
};

const dp_op dp_op_IsInf = {
    .name = "IsInf",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 0)},
    .outputs = {DP_OPERAND("Y", DP_BIT(DP_BOOL), 0)},
    .attrs = {DP_INT_ATTR("detect_negative", 1), DP_INT_ATTR("detect_positive", 1)},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_piecewise_infer_bool,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
