// dp.RandomUniform(seed [, step]) {low, high, key, shape, dtype}: low + (high - low) u, step word 0 without a step:
// initial values.
#include "ir/ops/random.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_random_check(node, 0, 1));
  double low = dp_node_float(node, "low", 0), high = dp_node_float(node, "high", 1);
  if (!(low <= high)) return dp_fail(EX_DATAERR, "low is %g and high is %g: an empty range", low, high);
  return dp_random_infer_made(node, DP_FLOATS);
}

static const dp_sample samples[] = {
    {.inputs = "int64[]", .attrs = "key=123456789, shape=[5,3]", .low = 1, .high = 99},
    {.inputs = "int64[], int64[]", .attrs = "key=5, shape=[N,3]", .n = 4, .low = 1, .high = 99},
    {.inputs = "int64[]", .attrs = "key=7, shape=[7], low=-0.5, high=2.5, dtype=11", .low = -99, .high = -1},
    {.inputs = "int64[]", .attrs = "key=8, shape=[7], dtype=float16", .low = 1, .high = 99},
    {.inputs = "int64[]", .attrs = "key=9, shape=[7], dtype=bfloat16", .low = 1, .high = 99},
    {0},
};

const dp_op dp_op_RandomUniform = {
    .name = "RandomUniform",
    .domain = "dp",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("seed", DP_BIT(DP_INT64), 0), DP_OPTIONAL("step", DP_BIT(DP_INT64), 0)},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 0)},
    .attrs = {DP_FLOAT_ATTR("low", 0),
              DP_FLOAT_ATTR("high", 1),
              {.name = "key", .kind = DP_ATTR_INT, .required = true},
              DP_SHAPE_ATTR("shape"),
              DP_INT_ATTR("dtype", DP_FLOAT32)},
    .flags = DP_OP_RANDOM,
    .infer = infer,
    .sharding = dp_random_sharding,
    .samples = samples,
};
