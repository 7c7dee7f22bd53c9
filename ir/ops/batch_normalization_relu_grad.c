// dp.BatchNormalizationReluGrad(x, scale, bias, mean, invstd, dy) -> dx, dscale, dbias, y: y = Relu(BatchNormalization(
// x)) once more, from the saved statistics, and the gradient of both, so that y need not be kept from the forward pass.
//
// dy counts where y is not 0 or less; of that it gives what dp.BatchNormalizationGrad gives. y is rounded before it is
// compared, as the forward pass does. Types are as in batch_normalization.c.
// The kernel needs the whole batch; over a split batch `decompose` computes the same from simpler operators.
#include "ir/ops/batch_normalization.h"

enum { X, SCALE, BIAS, MEAN, INVSTD, DY };
enum { DX, DSCALE, DBIAS, Y };

static dp_status infer(dp_node *node) {
  DP_TRY(dp_batch_normalization_check(node, SCALE, 4));
  DP_TRY(dp_common_expect("the gradient", dp_common_shape(node, DY), dp_common_shape(node, X)));
  for (int i = DX; i <= Y; i++) {
    const int like = i == DX || i == Y ? X : SCALE;
    dp_common_set(node, i, node->inputs[like]->type->dtype, dp_common_shape(node, like));
  }
  return DP_OK;
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, X);
  dp_sharding_split(rules, x->dims[1], (int[]){1, 0, 0, 0, 0, 1}, (int[]){1, 0, 0, 1});
}

static void decompose(dp_builder *b, const dp_node *node, dp_value *const *given, dp_value **out) {
  const dp_shape *x = &given[X]->type->shape;
  dp_value *in[INVSTD + 1];
  dp_batch_normalization_widen(b, INVSTD + 1, given, in);
  dp_value *centred = dp_build2(b, "Sub", in[X], dp_batch_normalization_wide(b, in[MEAN], x));
  dp_value *slope = dp_batch_normalization_wide(b, dp_build2(b, "Mul", in[SCALE], in[INVSTD]), x);
  dp_value *line =
      dp_build2(b, "Add", dp_build2(b, "Mul", centred, slope), dp_batch_normalization_wide(b, in[BIAS], x));
  dp_value *y = dp_build1(b, "Relu", dp_build_cast(b, line, given[X]->type->dtype));
  dp_value *operands[] = {given[X], given[SCALE], given[MEAN], given[INVSTD],
                          dp_build2(b, "dp.ReluGrad", given[DY], y)};
  dp_batch_normalization_grad_decompose(b, node, operands, out);
  if (dp_common_result(node, Y)) out[Y] = y;
}

static dp_cost cost(const dp_node *node, int64_t n) {
  return dp_common_cost(node, n, 14 * (double)dp_shape_count(dp_common_shape(node, X), n));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,2,4], float32[3], float32[3], float32[3], float32[3], float32[N,3,2,4]",
     .n = 5,
     .low = -1,
     .high = 2},
    {.inputs = "float32[N,4], float32[4], float32[4], float32[4], float32[4], float32[N,4]",
     .n = 6,
     .low = -1,
     .high = 3},
    {.inputs = "bfloat16[N,3,2,4], float32[3], float32[3], float32[3], float32[3], bfloat16[N,3,2,4]",
     .n = 5,
     .low = -1,
     .high = 2},
    {.inputs = "float16[N,4], float32[4], float32[4], float32[4], float32[4], float16[N,4]",
     .n = 6,
     .low = -1,
     .high = 3},
    {0},
};

const dp_op dp_op_BatchNormalizationReluGrad = {
    .name = "BatchNormalizationReluGrad",
    .domain = "dp",
    .n_inputs = 6,
    .n_outputs = 4,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("scale", DP_FLOATS, 'U'), DP_OPERAND("B", DP_FLOATS, 'U'),
               DP_OPERAND("mean", DP_FLOATS, 'U'), DP_OPERAND("invstd", DP_FLOATS, 'U'),
               DP_OPERAND("dY", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("dX", DP_FLOATS, 'T'), DP_OPTIONAL("dscale", DP_FLOATS, 'U'),
                DP_OPTIONAL("dB", DP_FLOATS, 'U'), DP_OPTIONAL("Y", DP_FLOATS, 'T')},
    .precision = DP_PRECISION_FIRST,
    .infer = infer,
    .sharding = placements,
    .decompose = decompose,
    .cost = cost,
    .samples = samples,
};
