// ConvInteger: Conv of 8-bit integers minus their zero points (w's has one per output channel), in int32. The padding
// is x's zero point. Summed in float64, which holds every such sum. Specialized into elementary operators.
#include "ir/ops/conv.h"
#include "ir/ops/quantize.h"

static dp_status infer(dp_node *node) {
  dp_geometry geometry;
  dp_shape y;
  DP_TRY(dp_conv_result(node, dp_common_shape(node, 0), dp_common_shape(node, 1), &geometry, &y));
  DP_TRY(dp_quantize_check_side(node, 2, dp_common_shape(node, 0), -1));
  DP_TRY(dp_quantize_check_side(node, 3, dp_common_shape(node, 1), 0));
  dp_common_set(node, 0, DP_INT32, &y);
  return DP_OK;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  int rank = dp_common_shape(node, 1)->rank;
  dp_value *x_zero = dp_quantize_side(b, node->n_inputs > 2 ? in[2] : NULL, 0, 0);
  dp_value *w_zero = dp_quantize_side(b, node->n_inputs > 3 ? in[3] : NULL, 0, rank);
  dp_value *factors[] = {dp_quantize_centred(b, in[0], x_zero, DP_FLOAT64),
                         dp_quantize_centred(b, in[1], w_zero, DP_FLOAT64)};
  out[0] = dp_build_cast(b, dp_build(b, "Conv", 2, factors, 1, node->n_attrs, node->attrs), DP_INT32);
}

static const dp_sample samples[] = {
    {.inputs = "uint8[N,2,5,5], uint8[3,2,3,3]", .n = 2, .low = 0, .high = 255},
    {.inputs = "uint8[N,2,5], int8[4,1,2], uint8[], int8[4]",
     .attrs = "pads=[1,0], strides=[2], dilations=[2], group=2, kernel_shape=[2]",
     .n = 2,
     .low = 0,
     .high = 127},
    {.inputs = "int8[N,2,4,4], uint8[3,2,3,3], int8[1], uint8[1]",
     .attrs = "auto_pad=\"SAME_LOWER\"",
     .n = 2,
     .low = 0,
     .high = 127},
    {0},
};

const dp_op dp_op_ConvInteger = {
    .name = "ConvInteger",
    .domain = "",
    .n_inputs = 4,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("x", DP_QUANTIZED_BYTES, 'X'), DP_OPERAND("w", DP_QUANTIZED_BYTES, 'W'),
               DP_OPTIONAL("x_zero_point", DP_QUANTIZED_BYTES, 'X'),
               DP_OPTIONAL("w_zero_point", DP_QUANTIZED_BYTES, 'W')},
    .outputs = {DP_OPERAND("y", DP_BIT(DP_INT32), 0)},
    .attrs = {DP_CONV_ATTRS},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
