// DynamicQuantizeLinear: quantizes to uint8 by x's own range, extended to include 0; the results are the numbers, the
// scale and the zero point. Specialized into elementary operators.
#include "ir/ops/quantize.h"

static dp_status infer(dp_node *node) {
  dp_shape scalar = {0};
  dp_common_set(node, 0, DP_UINT8, dp_common_shape(node, 0));
  dp_common_set(node, 1, node->inputs[0]->type->dtype, &scalar);
  dp_common_set(node, 2, DP_UINT8, &scalar);
  return DP_OK;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)node, (void)training;
  dp_value *x = in[0];
  dp_attr keepdims = dp_attr_int("keepdims", 0);
  dp_value *most = dp_elementwise_with(b, "Max", dp_build(b, "ReduceMax", 1, &x, 1, 1, &keepdims), 0);
  dp_value *least = dp_elementwise_with(b, "Min", dp_build(b, "ReduceMin", 1, &x, 1, 1, &keepdims), 0);
  dp_value *scale = dp_elementwise_with(b, "Div", dp_build2(b, "Sub", most, least), 255);
  dp_value *zero = dp_quantize_round(b, dp_build1(b, "Neg", dp_build2(b, "Div", least, scale)), NULL, DP_UINT8);
  out[0] = dp_quantize_round(b, dp_build2(b, "Div", x, scale), zero, DP_UINT8);
  out[1] = scale;
  out[2] = zero;
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 4},
    {.inputs = "float32[N,2,3]", .n = 3, .low = 1, .high = 9},
    {.inputs = "float32[7]", .low = -9, .high = -1},
    {0},
};

const dp_op dp_op_DynamicQuantizeLinear = {
    .name = "DynamicQuantizeLinear",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 3,
    .inputs = {DP_OPERAND("x", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("y", DP_BIT(DP_UINT8), 0), DP_OPERAND("y_scale", DP_FLOATS, 'T'),
                DP_OPERAND("y_zero_point", DP_BIT(DP_UINT8), 0)},
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
