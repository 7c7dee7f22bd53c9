// InstanceNormalization(x, scale, bias): gives each channel of each sample mean 0 and variance 1 over its spatial dims,
// before scale and bias.
#include "ir/ops/normalization.h"

static int64_t groups_of(const dp_node *node) { return dp_common_shape(node, 0)->dims[1].offset; }

static dp_status infer(dp_node *node) {
  if (dp_common_shape(node, 0)->rank < 2) return dp_fail(EX_DATAERR, "[N, channels, ...] is expected");
  return dp_normalization_groups_infer(node, groups_of(node));
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_normalization_groups_gradient(b, node, groups_of(node), dy[0], dx);
}

static void placements(dp_sharding_rules *rules) { dp_normalization_groups_sharding(rules, groups_of(rules->node)); }

static void decompose(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  out[0] = dp_normalization_groups_decompose(b, node, groups_of(node), in);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,2,4], float32[3], float32[3]", .n = 4},
    {.inputs = "float32[N,2,7], float32[2], float32[2]", .attrs = "epsilon=0.1", .n = 3},
    {0},
};

const dp_op dp_op_InstanceNormalization = {
    .name = "InstanceNormalization",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_FLOATS, 'T'), DP_OPERAND("scale", DP_FLOATS, 'T'),
               DP_OPERAND("B", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 'T')},
    .attrs = {DP_FLOAT_ATTR("epsilon", 1e-5)},
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .decompose = decompose,
    .cost = dp_normalization_cost,
    .samples = samples,
};
