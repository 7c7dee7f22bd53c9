// ReduceSum over axes (all when none are named). Linear.
#include "ir/ops/reduce.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dx[0] = dp_reduce_expand(b, node, dy[0]);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .attrs = "axes=[0], keepdims=0", .n = 5},
    {.inputs = "float32[N,3,4]", .attrs = "axes=[-1,0]", .n = 6},
    {.inputs = "float32[N,3,4]", .attrs = "keepdims=0", .n = 3},
    {.inputs = "float32[N,3]", .attrs = "noop_with_empty_axes=1", .n = 4},
    {.inputs = "int32[N,3]", .attrs = "axes=[1]", .n = 4, .low = -9, .high = 9},
    {.inputs = "int64[N]", .attrs = "axes=[0], keepdims=0", .n = 8, .low = -9, .high = 9},
    {.inputs = "float16[N,3]", .attrs = "axes=[1]", .n = 5},
    {.inputs = "uint32[N,3]", .attrs = "axes=[0]", .n = 5, .low = 0, .high = 99},
    {0},
};

const dp_op dp_op_ReduceSum = {
    .name = "ReduceSum",
    .domain = "",
    DP_REDUCE_SCHEMA(DP_NUMBERS),
    .precision = DP_PRECISION_FULL,
    .gradient = gradient,
    .sharding = dp_reduce_sharding,
    .samples = samples,
};
