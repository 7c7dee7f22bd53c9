// dp.Fill() {value, shape, dtype}: every element is value.
#include "ir/ops/random.h"

static dp_status infer(dp_node *node) { return dp_random_infer_made(node, DP_ANY_TYPE); }

static const dp_sample samples[] = {
    {.inputs = "", .attrs = "shape=[5,3], value=0.5"},
    {.inputs = "", .attrs = "shape=[N,3], value=-2, dtype=11", .n = 4},
    {.inputs = "", .attrs = "shape=[], value=7, dtype=7"},
    {.inputs = "", .attrs = "shape=[3], dtype=6"},
    {.inputs = "", .attrs = "shape=[3], value=255, dtype=2"},
    {.inputs = "", .attrs = "shape=[3], value=1, dtype=9"},
    {0},
};

const dp_op dp_op_Fill = {
    .name = "Fill",
    .domain = "dp",
    .n_inputs = 0,
    .n_outputs = 1,
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 0)},
    .attrs = {DP_FLOAT_ATTR("value", 0), DP_SHAPE_ATTR("shape"), DP_INT_ATTR("dtype", DP_FLOAT32)},
    .infer = infer,
    .placements = dp_random_rows,
    .samples = samples,
};
