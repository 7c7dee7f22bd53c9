// QLinearMatMul: MatMul of quantized matrices (a's scale and zero point have one value per row, b's one per column),
// quantized again. Summed in int32, scaled in float32. Specialized into elementary operators.
#include "ir/ops/quantize.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO };

// The scales of a factor of this shape may not vary along dim `summed`, since they would not factor out of the sum, and
// not at all where a factor is a vector, whose position in the result another dim has.
static dp_shape scaled(const dp_shape *x, int summed, bool matrices) {
  dp_shape shape = {0};
  if (!matrices) return shape;
  shape = *x;
  shape.dims[summed] = dp_dim_of(1);
  return shape;
}

static dp_status infer(dp_node *node) {
  const dp_shape *a = dp_common_shape(node, A), *b = dp_common_shape(node, B);
  DP_TRY(dp_quantize_infer_product(node, A, B, node->inputs[Y_ZERO]->type->dtype));
  const dp_shape *y = &node->outputs[0]->type->shape;
  bool matrices = a->rank > 1 && b->rank > 1;
  dp_shape a_scaled = scaled(a, a->rank - 1, matrices), b_scaled = scaled(b, b->rank - 2, matrices);
  DP_TRY(dp_quantize_check_side(node, A_SCALE, &a_scaled, a_scaled.rank - 2));
  DP_TRY(dp_quantize_check_side(node, A_ZERO, a, a->rank - 2));
  DP_TRY(dp_quantize_check_side(node, B_SCALE, &b_scaled, b_scaled.rank - 1));
  DP_TRY(dp_quantize_check_side(node, B_ZERO, b, b->rank - 1));
  for (int i = Y_SCALE; i <= Y_ZERO; i++) DP_TRY(dp_quantize_check_side(node, i, y, y->rank - 2));
  return DP_OK;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  int a_rank = dp_common_shape(node, A)->rank, b_rank = dp_common_shape(node, B)->rank;
  int y_rank = node->outputs[0]->type->shape.rank;
  dp_value *side[Y_ZERO + 1];
  for (int i = A_SCALE; i <= A_ZERO; i++) side[i] = dp_quantize_side(b, in[i], a_rank - 2, a_rank);
  for (int i = B_SCALE; i <= B_ZERO; i++) side[i] = dp_quantize_side(b, in[i], b_rank - 1, b_rank);
  for (int i = Y_SCALE; i <= Y_ZERO; i++) side[i] = dp_quantize_side(b, in[i], y_rank - 2, y_rank);
  dp_value *sums = dp_build2(b, "MatMul", dp_quantize_centred(b, in[A], side[A_ZERO], DP_INT32),
                             dp_quantize_centred(b, in[B], side[B_ZERO], DP_INT32));
  out[0] = dp_quantize_rescale(b, sums, side[A_SCALE], side[B_SCALE], side[Y_SCALE], side[Y_ZERO],
                               node->outputs[0]->type->dtype);
}

static const dp_sample samples[] = {
    {.inputs = "uint8[N,4], float32[], uint8[], uint8[4,3], float32[], uint8[], float32[], uint8[]",
     .n = 3,
     .low = 1,
     .high = 4},
    {.inputs = "int8[N,4], float32[N], int8[N], int8[4,3], float32[3], int8[3], float32[N], int8[N]",
     .n = 3,
     .low = 1,
     .high = 4},
    {.inputs = "int8[2,N,4], float16[1], int8[1], uint8[2,4,3], float16[1], uint8[1], float16[1], uint8[1]",
     .n = 3,
     .low = 1,
     .high = 3},
    {0},
};

const dp_op dp_op_QLinearMatMul = {
    .name = "QLinearMatMul",
    .domain = "",
    .n_inputs = 8,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("a", DP_QUANTIZED_BYTES, 'A'), DP_OPERAND("a_scale", DP_FLOATS, 'S'),
               DP_OPERAND("a_zero_point", DP_QUANTIZED_BYTES, 'A'), DP_OPERAND("b", DP_QUANTIZED_BYTES, 'B'),
               DP_OPERAND("b_scale", DP_FLOATS, 'S'), DP_OPERAND("b_zero_point", DP_QUANTIZED_BYTES, 'B'),
               DP_OPERAND("y_scale", DP_FLOATS, 'S'), DP_OPERAND("y_zero_point", DP_QUANTIZED_BYTES, 'Y')},
    .outputs = {DP_OPERAND("y", DP_QUANTIZED_BYTES, 'Y')},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
