// dp.RMSNormalizationGrad(x, scale, dy) {axis} -> dx [, dscale]: the gradient of RMSNormalization, whose attributes it
// has. The mean square is computed in float64 regardless of stash_type.
#include "ir/ops/normalization_grad.h"

static void decompose(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  dp_normalization_grad_decompose(b, node, in, false, out);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,5], float32[5], float32[N,3,5]", .n = 4},
    {.inputs = "float32[N,2,3], float32[2,3], float32[N,2,3]", .attrs = "axis=1, epsilon=0.1, stash_type=11", .n = 5},
    {0},
};

const dp_op dp_op_RMSNormalizationGrad = {
    .name = "RMSNormalizationGrad",
    .domain = "dp",
    .n_inputs = 3,
    .n_outputs = 2,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("scale", DP_FLOATS, 'T'), DP_OPERAND("dY", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("dX", DP_FLOATS, 'T'), DP_OPTIONAL("dscale", DP_FLOATS, 'T')},
    .attrs = {DP_INT_ATTR("axis", -1), DP_FLOAT_ATTR("epsilon", 1e-5), DP_INT_ATTR("stash_type", 1)},
    .precision = DP_PRECISION_FULL,
    .infer = dp_normalization_grad_infer,
    .sharding = dp_normalization_grad_sharding,
    .decompose = decompose,
    .row_beside_sums = dp_common_row,
    .cost = dp_normalization_grad_cost,
    .samples = samples,
};
