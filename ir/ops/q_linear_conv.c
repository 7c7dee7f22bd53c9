// QLinearConv: Conv of quantized tensors (w's scale and zero point have one value per output channel), plus an int32
// bias in units of x_scale w_scale, quantized again. Summed in float64, which holds every such sum, scaled in float32.
// Specialized into elementary operators.
#include "ir/ops/conv.h"
#include "ir/ops/quantize.h"

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS };

static dp_status infer(dp_node *node) {
  dp_geometry geometry;
  dp_shape y, channels = {.rank = 1}, one = {0};
  const dp_shape *w = dp_common_shape(node, W);
  DP_TRY(dp_conv_result(node, dp_common_shape(node, X), w, &geometry, &y));
  channels.dims[0] = y.dims[1];
  for (int i = X_SCALE; i <= Y_ZERO; i++) {
    bool each = i == W_SCALE || i == W_ZERO;
    if (i != W) DP_TRY(dp_quantize_check_side(node, i, each ? &channels : &one, each ? 0 : -1));
  }
  if (dp_common_operand(node, BIAS)) DP_TRY(dp_common_expect("B", dp_common_shape(node, BIAS), &channels));
  dp_common_set(node, 0, node->inputs[Y_ZERO]->type->dtype, &y);
  return DP_OK;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  int rank = dp_common_shape(node, W)->rank;
  dp_value *x_zero = dp_quantize_side(b, in[X_ZERO], 0, 0), *w_zero = dp_quantize_side(b, in[W_ZERO], 0, rank);
  dp_value *bias = node->n_inputs > BIAS && in[BIAS] ? dp_build_cast(b, in[BIAS], DP_FLOAT64) : NULL;
  dp_value *terms[] = {dp_quantize_centred(b, in[X], x_zero, DP_FLOAT64),
                       dp_quantize_centred(b, in[W], w_zero, DP_FLOAT64), bias};
  dp_value *sums = dp_build(b, "Conv", bias ? 3 : 2, terms, 1, node->n_attrs, node->attrs);
  out[0] = dp_quantize_rescale(b, sums, dp_quantize_side(b, in[X_SCALE], 0, 0),
                               dp_quantize_side(b, in[W_SCALE], 1, rank), dp_quantize_side(b, in[Y_SCALE], 0, 0),
                               dp_quantize_side(b, in[Y_ZERO], 0, 0), node->outputs[0]->type->dtype);
}

static const dp_sample samples[] = {
    {.inputs = "uint8[N,2,5,5], float32[], uint8[], uint8[3,2,3,3], float32[], uint8[], float32[], uint8[]",
     .n = 2,
     .low = 1,
     .high = 4},
    {.inputs = "int8[N,2,5], float32[1], int8[1], int8[4,1,2], float32[4], int8[4], float32[1], int8[1], int32[4]",
     .attrs = "pads=[1,0], strides=[2], dilations=[2], group=2, kernel_shape=[2]",
     .n = 2,
     .low = 1,
     .high = 4},
    {.inputs = "uint8[N,2,4,4], float32[], uint8[], int8[3,2,3,3], float32[], int8[], float32[], int8[]",
     .attrs = "auto_pad=\"SAME_LOWER\"",
     .n = 2,
     .low = 1,
     .high = 3},
    {0},
};

#define SCALE (DP_BIT(DP_FLOAT32) | DP_BIT(DP_FLOAT64))

const dp_op dp_op_QLinearConv = {
    .name = "QLinearConv",
    .domain = "",
    .n_inputs = 9,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("x", DP_QUANTIZED_BYTES, 'X'), DP_OPERAND("x_scale", SCALE, 0),
               DP_OPERAND("x_zero_point", DP_QUANTIZED_BYTES, 'X'), DP_OPERAND("w", DP_QUANTIZED_BYTES, 'W'),
               DP_OPERAND("w_scale", SCALE, 0), DP_OPERAND("w_zero_point", DP_QUANTIZED_BYTES, 'W'),
               DP_OPERAND("y_scale", SCALE, 0), DP_OPERAND("y_zero_point", DP_QUANTIZED_BYTES, 'Y'),
               DP_OPTIONAL("B", DP_BIT(DP_INT32), 0)},
    .outputs = {DP_OPERAND("y", DP_QUANTIZED_BYTES, 'Y')},
    .attrs = {DP_CONV_ATTRS},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
