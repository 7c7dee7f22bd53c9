// dp.BatchNormalizationGrad(x, scale, mean, invstd, dy) -> dx, dscale, dbias, through the batch's own statistics.
//
// With h = (x - mean) invstd and n the number of elements of a channel in the whole batch:
//   dbias = sum dy, dscale = sum dy h, dx = scale invstd (dy - dbias / n - h dscale / n).
// x, dy and dx have one type, all else another, as in batch_normalization.c.
// The kernel needs the whole batch; over a split batch `decompose` computes the same from simpler operators.
#include "ir/ops/batch_normalization.h"

enum { X, SCALE, MEAN, INVSTD, DY };

dp_status dp_batch_normalization_grad_infer(dp_node *node, const dp_shape *saved) {
  DP_TRY(dp_common_expect("mean", dp_common_shape(node, MEAN), saved));
  DP_TRY(dp_common_expect("invstd", dp_common_shape(node, INVSTD), saved));
  DP_TRY(dp_common_expect("the gradient", dp_common_shape(node, DY), dp_common_shape(node, X)));
  dp_common_set(node, 0, node->inputs[X]->type->dtype, dp_common_shape(node, X));
  for (int i = 1; i < 3; i++) dp_common_set(node, i, node->inputs[SCALE]->type->dtype, dp_common_shape(node, SCALE));
  return DP_OK;
}

static dp_status infer(dp_node *node) {
  DP_TRY(dp_batch_normalization_check(node, SCALE, 1));
  return dp_batch_normalization_grad_infer(node, dp_common_shape(node, SCALE));
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, X);
  dp_sharding_split(rules, x->dims[1], (int[]){1, 0, 0, 0, 1}, (int[]){1, 0, 0});
}

void dp_batch_normalization_grad_decompose(dp_builder *b, const dp_node *node, dp_value *const *given, dp_value **out) {
  const dp_shape *x = &given[X]->type->shape;
  dp_value *in[DY + 1];
  dp_batch_normalization_widen(b, DY + 1, given, in);
  int64_t axes[DP_MAX_RANK];
  size_t n_axes = dp_batch_normalization_axes(x, axes);
  dp_value *centred = dp_build2(b, "Sub", in[X], dp_batch_normalization_wide(b, in[MEAN], x));
  dp_value *h = dp_build2(b, "Mul", centred, dp_batch_normalization_wide(b, in[INVSTD], x));
  dp_value *dbias = dp_build_reduce(b, "ReduceSum", in[DY], axes, n_axes, false);
  dp_value *dscale = dp_build_reduce(b, "ReduceSum", dp_build2(b, "Mul", in[DY], h), axes, n_axes, false);
  dp_value *count = dp_build_count(b, x, axes, n_axes, in[X]->type->dtype);
  dp_value *mean_dy = dp_batch_normalization_wide(b, dp_build2(b, "Div", dbias, count), x);
  dp_value *mean_dyh = dp_batch_normalization_wide(b, dp_build2(b, "Div", dscale, count), x);
  dp_value *slope = dp_batch_normalization_wide(b, dp_build2(b, "Mul", in[SCALE], in[INVSTD]), x);
  dp_value *rest = dp_build2(b, "Sub", dp_build2(b, "Sub", in[DY], mean_dy), dp_build2(b, "Mul", h, mean_dyh));
  if (dp_common_result(node, 0)) out[0] = dp_build2(b, "Mul", rest, slope);
  if (dp_common_result(node, 1)) out[1] = dscale;
  if (dp_common_result(node, 2)) out[2] = dbias;
  for (int i = 0; i < 3; i++)
    if (out[i]) out[i] = dp_build_cast(b, out[i], given[i ? SCALE : X]->type->dtype);
}

dp_cost dp_batch_normalization_grad_cost(const dp_node *node, int64_t n) {
  return dp_common_cost(node, n, 9 * (double)dp_shape_count(dp_common_shape(node, X), n));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,2,4], float32[3], float32[3], float32[3], float32[N,3,2,4]", .n = 5, .low = 0.2, .high = 2},
    {.inputs = "float32[N,4], float32[4], float32[4], float32[4], float32[N,4]", .n = 6, .low = -1, .high = 3},
    {.inputs = "bfloat16[N,3,2,4], float32[3], float32[3], float32[3], bfloat16[N,3,2,4]",
     .n = 5,
     .low = 0.2,
     .high = 2},
    {.inputs = "float16[N,4], float32[4], float32[4], float32[4], float16[N,4]", .n = 6, .low = -1, .high = 3},
    {0},
};

const dp_op dp_op_BatchNormalizationGrad = {
    .name = "BatchNormalizationGrad",
    .domain = "dp",
    .n_inputs = 5,
    .n_outputs = 3,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("scale", DP_FLOATS, 'U'), DP_OPERAND("mean", DP_FLOATS, 'U'),
               DP_OPERAND("invstd", DP_FLOATS, 'U'), DP_OPERAND("dY", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("dX", DP_FLOATS, 'T'), DP_OPTIONAL("dscale", DP_FLOATS, 'U'),
                DP_OPTIONAL("dB", DP_FLOATS, 'U')},
    .flags = DP_OP_CHANNELS,
    .precision = DP_PRECISION_FIRST,
    .infer = infer,
    .sharding = placements,
    .decompose = dp_batch_normalization_grad_decompose,
    .cost = dp_batch_normalization_grad_cost,
    .samples = samples,
};
