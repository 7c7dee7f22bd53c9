// dp.RandomNormal(seed [, step]) {mean, scale, key, shape, dtype}: mean + scale z (dp_philox_normal), step word 0
// without a step: initial values.
#include "ir/ops/random.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_random_check(node, 0, 1));
  double scale = dp_node_float(node, "scale", 1);
  if (!(scale >= 0)) return dp_fail(EX_DATAERR, "scale is %g where 0 or more is expected", scale);
  return dp_random_infer_made(node, DP_FLOATS);
}

static const dp_sample samples[] = {
    {.inputs = "int64[]", .attrs = "key=123456789, shape=[5,3]", .low = 1, .high = 99},
    {.inputs = "int64[], int64[]", .attrs = "key=5, shape=[N,3]", .n = 4, .low = 1, .high = 99},
    {.inputs = "int64[]", .attrs = "key=7, shape=[7], mean=-0.5, scale=2.5, dtype=11", .low = -99, .high = -1},
    {.inputs = "int64[]", .attrs = "key=8, shape=[7], dtype=float16", .low = 1, .high = 99},
    {.inputs = "int64[]", .attrs = "key=9, shape=[7], dtype=bfloat16", .low = 1, .high = 99},
    {0},
};

const dp_op dp_op_RandomNormal = {
    .name = "RandomNormal",
    .domain = "dp",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("seed", DP_BIT(DP_INT64), 0), DP_OPTIONAL("step", DP_BIT(DP_INT64), 0)},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 0)},
    .attrs = {DP_FLOAT_ATTR("mean", 0),
              DP_FLOAT_ATTR("scale", 1),
              {.name = "key", .kind = DP_ATTR_INT, .required = true},
              DP_SHAPE_ATTR("shape"),
              DP_INT_ATTR("dtype", DP_FLOAT32)},
    .flags = DP_OP_RANDOM,
    .infer = infer,
    .sharding = dp_random_sharding,
    .samples = samples,
};
