// ArgMin: the index of the smallest element along an axis; of equal ones the first, or the last on request. NaN counts
// as smaller than anything.
#include "ir/ops/arg.h"

static const dp_sample samples[] = {
    {.inputs = "float32[N,7]", .attrs = "axis=1, keepdims=0", .n = 5},
    {.inputs = "float32[3,N,2]", .attrs = "axis=-3, keepdims=0", .n = 4},
    {.inputs = "float32[6]", .attrs = "keepdims=0"},
    {.inputs = "int32[N,9]", .attrs = "axis=1", .n = 4, .low = 0, .high = 2},
    {.inputs = "int64[N,9]", .attrs = "axis=1, select_last_index=1", .n = 4, .low = 0, .high = 2},
    {.inputs = "uint8[2,9]", .attrs = "axis=1", .low = 0, .high = 4},
    {0},
};

const dp_op dp_op_ArgMin = {
    .name = "ArgMin",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_NUMBERS, 0)},
    .outputs = {DP_OPERAND("reduced", DP_BIT(DP_INT64), 0)},
    .attrs = {DP_INT_ATTR("axis", 0), DP_INT_ATTR("keepdims", 1), DP_INT_ATTR("select_last_index", 0)},
    .infer = dp_arg_infer,
    .sharding = dp_arg_placements,
    .samples = samples,
};
