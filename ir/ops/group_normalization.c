// GroupNormalization(x, scale, bias) {num_groups}: gives each group of channels of each sample mean 0 and variance 1
// over its channels and spatial dims, before scale and bias, which have one value per channel (ONNX since opset 21).
// Statistics are computed in float64 regardless of stash_type.
#include "ir/ops/normalization.h"

static int64_t groups_of(const dp_node *node) { return dp_node_int(node, "num_groups", 1); }

static dp_status infer(dp_node *node) { return dp_normalization_groups_infer(node, groups_of(node)); }

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_normalization_groups_gradient(b, node, groups_of(node), dy[0], dx);
}

static void placements(dp_sharding_rules *rules) { dp_normalization_groups_sharding(rules, groups_of(rules->node)); }

static void decompose(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  out[0] = dp_normalization_groups_decompose(b, node, groups_of(node), in);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,6,2,2], float32[6], float32[6]", .attrs = "num_groups=3", .n = 3},
    {.inputs = "float32[N,4], float32[4], float32[4]", .attrs = "num_groups=1, epsilon=0.1", .n = 3},
    {.inputs = "float32[N,4,3], float32[4], float32[4]", .attrs = "num_groups=2, stash_type=11", .n = 3},
    {0},
};

const dp_op dp_op_GroupNormalization = {
    .name = "GroupNormalization",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("scale", DP_FLOATS, 'T'),
               DP_OPERAND("bias", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_FLOAT_ATTR("epsilon", 1e-5),
              {.name = "num_groups", .kind = DP_ATTR_INT, .required = true},
              DP_INT_ATTR("stash_type", 1)},
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .decompose = decompose,
    .cost = dp_normalization_cost,
    .samples = samples,
};
