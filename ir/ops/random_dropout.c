// dp.Dropout(x, seed, step) {ratio, key}: x / (1 - ratio) where the element's number u (ir/base/philox.h) is at least
// ratio, else 0. The number depends on the element's position in the whole tensor, so any split drops the same. Linear;
// its gradient is itself.
#include "ir/ops/random.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_random_check(node, 1, 2));
  double ratio = dp_node_float(node, "ratio", 0.5);
  if (!(ratio >= 0 && ratio < 1))
    return dp_fail(EX_DATAERR, "ratio is %g where 0 or more and less than 1 is expected", ratio);
  return dp_common_infer_same(node);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *in[] = {dy[0], node->inputs[1], node->inputs[2]};
  dx[0] = dp_build(b, "dp.Dropout", 3, in, 1, node->n_attrs, node->attrs);
}

static void placements(dp_sharding_rules *rules) {
  dp_sharding_split_but(rules, DP_WHOLE);
  dp_sharding_linear(rules, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,7], int64[], int64[]", .attrs = "key=123456789", .n = 5, .low = 1, .high = 5},
    {.inputs = "float32[2,N,3], int64[], int64[]", .attrs = "key=4294967295, ratio=0.25", .n = 5, .low = 1, .high = 5},
    {0},
};

const dp_op dp_op_dp_Dropout = {
    .name = "Dropout",
    .domain = "dp",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_FLOATS, 'T'), DP_OPERAND("seed", DP_BIT(DP_INT64), 0),
               DP_OPERAND("step", DP_BIT(DP_INT64), 0)},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 'T')},
    .attrs = {DP_FLOAT_ATTR("ratio", 0.5), {.name = "key", .kind = DP_ATTR_INT, .required = true}},
    .flags = DP_OP_RANDOM | DP_OP_ELEMENTWISE,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
