// MatMulInteger: MatMul of 8-bit integers minus their zero points (A's has one per row, B's one per column), in int32.
// Specialized into elementary operators.
#include "ir/ops/quantize.h"

static dp_status infer(dp_node *node) {
  const dp_shape *a = dp_common_shape(node, 0), *b = dp_common_shape(node, 1);
  DP_TRY(dp_quantize_infer_product(node, 0, 1, DP_INT32));
  DP_TRY(dp_quantize_check_side(node, 2, a, a->rank - 2));
  return dp_quantize_check_side(node, 3, b, b->rank - 1);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  int a_rank = dp_common_shape(node, 0)->rank, b_rank = dp_common_shape(node, 1)->rank;
  dp_value *a_zero = dp_quantize_side(b, node->n_inputs > 2 ? in[2] : NULL, a_rank - 2, a_rank);
  dp_value *b_zero = dp_quantize_side(b, node->n_inputs > 3 ? in[3] : NULL, b_rank - 1, b_rank);
  out[0] = dp_build2(b, "MatMul", dp_quantize_centred(b, in[0], a_zero, DP_INT32),
                     dp_quantize_centred(b, in[1], b_zero, DP_INT32));
}

static const dp_sample samples[] = {
    {.inputs = "uint8[N,4], uint8[4,3]", .n = 3, .low = 0, .high = 255},
    {.inputs = "uint8[N,4], int8[4,3], uint8[N], int8[3]", .n = 3, .low = 0, .high = 127},
    {.inputs = "int8[2,N,4], uint8[2,4,3], int8[2,N,1], uint8[]", .n = 3, .low = 0, .high = 127},
    {.inputs = "int8[N,4], int8[4], , int8[1]", .n = 3, .low = -128, .high = 127},
    {0},
};

const dp_op dp_op_MatMulInteger = {
    .name = "MatMulInteger",
    .domain = "",
    .n_inputs = 4,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("A", DP_QUANTIZED_BYTES, 'A'), DP_OPERAND("B", DP_QUANTIZED_BYTES, 'B'),
               DP_OPTIONAL("a_zero_point", DP_QUANTIZED_BYTES, 'A'),
               DP_OPTIONAL("b_zero_point", DP_QUANTIZED_BYTES, 'B')},
    .outputs = {DP_OPERAND("Y", DP_BIT(DP_INT32), 0)},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
