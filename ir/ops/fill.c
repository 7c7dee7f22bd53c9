// dp.Fill() {value, shape, dtype}: every element is value.
#include "ir/ops/random.h"

static dp_status infer(dp_node *node) { return dp_random_infer_made(node, DP_STORED); }

static const dp_sample samples[] = {
    {.inputs = "", .attrs = "shape=[5,3], value=0.5"},
    {.inputs = "", .attrs = "shape=[N,3], value=-2, dtype=11", .n = 4},
    {.inputs = "", .attrs = "shape=[], value=7, dtype=7"},
    {.inputs = "", .attrs = "shape=[3], dtype=6"},
    {.inputs = "", .attrs = "shape=[3], value=255, dtype=2"},
    {.inputs = "", .attrs = "shape=[3], value=1, dtype=9"},
    {.inputs = "", .attrs = "shape=[2], value=0.5, dtype=float16"},
    {.inputs = "", .attrs = "shape=[2], value=0.5, dtype=bfloat16"},
    {.inputs = "", .attrs = "shape=[2], value=-5, dtype=int8"},
    {.inputs = "", .attrs = "shape=[2], value=-5, dtype=int16"},
    {.inputs = "", .attrs = "shape=[2], value=65535, dtype=uint16"},
    {.inputs = "", .attrs = "shape=[2], value=1, dtype=uint32"},
    {.inputs = "", .attrs = "shape=[2], value=7, dtype=uint64"},
    {.inputs = "", .attrs = "shape=[2], value=2, dtype=float8e4m3fn"},
    {.inputs = "", .attrs = "shape=[2], value=2, dtype=float8e4m3fnuz"},
    {.inputs = "", .attrs = "shape=[2], value=2, dtype=float8e5m2"},
    {.inputs = "", .attrs = "shape=[2], value=2, dtype=float8e5m2fnuz"},
    {.inputs = "", .attrs = "shape=[2], value=2, dtype=uint4"},
    {.inputs = "", .attrs = "shape=[2], value=2, dtype=int4"},
    {.inputs = "", .attrs = "shape=[2], value=2, dtype=float4e2m1"},
    {.inputs = "", .attrs = "shape=[2], value=1, dtype=float8e8m0"},
    {.inputs = "", .attrs = "shape=[2], value=1, dtype=uint2"},
    {.inputs = "", .attrs = "shape=[2], value=1, dtype=int2"},
    {0},
};

const dp_op dp_op_Fill = {
    .name = "Fill",
    .domain = "dp",
    .n_inputs = 0,
    .n_outputs = 1,
    .outputs = {DP_OPERAND("output", DP_STORED, 0)},
    .attrs = {DP_FLOAT_ATTR("value", 0), DP_SHAPE_ATTR("shape"), DP_INT_ATTR("dtype", DP_FLOAT32)},
    .infer = infer,
    .sharding = dp_random_sharding,
    .samples = samples,
};
