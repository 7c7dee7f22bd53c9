// DequantizeLinear: (x - x_zero_point) * x_scale, in the type of x_scale or in output_dtype. Computed in float32, or in
// float64 when that is the scale's type. Specialized into elementary operators.
#include "ir/ops/quantize.h"

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  const dp_value *zero = dp_common_operand(node, 2);
  int64_t axis = dp_node_int(node, "axis", 1), block = dp_node_int(node, "block_size", 0);
  int64_t named = dp_node_int(node, "output_dtype", 0);
  dp_dtype scale = node->inputs[1]->type->dtype;
  if (named && (named < 0 || named > DP_MAX_TYPE || !(DP_BIT(named) & DP_FLOATS)))
    return dp_fail(EX_DATAERR, "output_dtype is %lld, which is not a float type", (long long)named);
  if (!named && !dp_type_is_float(scale))
    return dp_fail(EX_DATAERR, "x_scale has type %s: output_dtype must give the result's type", dp_type_name(scale));
  DP_TRY(dp_quantize_check("x_scale", dp_common_shape(node, 1), x, axis, block));
  if (zero) DP_TRY(dp_quantize_check("x_zero_point", &zero->type->shape, x, axis, block));
  dp_common_set(node, 0, named ? (dp_dtype)named : scale, x);
  return DP_OK;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  const dp_shape *x = dp_common_shape(node, 0);
  dp_value *zero = node->n_inputs > 2 ? in[2] : NULL;
  int64_t axis = dp_node_int(node, "axis", 1), block = dp_node_int(node, "block_size", 0);
  dp_dtype wide = in[1]->type->dtype == DP_FLOAT64 ? DP_FLOAT64 : DP_FLOAT32;
  if (zero) zero = dp_quantize_spread(b, dp_build_cast(b, zero, wide), x, axis, block);
  dp_value *scale = dp_quantize_spread(b, dp_build_cast(b, in[1], wide), x, axis, block);
  dp_value *y = dp_build2(b, "Mul", dp_quantize_centred(b, in[0], zero, wide), scale);
  out[0] = dp_build_cast(b, y, node->outputs[0]->type->dtype);
}

static const dp_sample samples[] = {
    {.inputs = "uint8[N,3], float32[]", .n = 4, .low = 1, .high = 99},
    {.inputs = "uint8[N,3,2], float32[3], uint8[3]", .n = 3, .low = 1, .high = 9},
    {.inputs = "uint8[N,3], float32[N], uint8[N]", .attrs = "axis=-2", .n = 3, .low = 1, .high = 9},
    {.inputs = "uint8[N,5], float32[N,3], uint8[N,3]", .attrs = "block_size=2", .n = 3, .low = 1, .high = 9},
    {.inputs = "int32[N,3], float16[]", .n = 4, .low = 1, .high = 99},
    {.inputs = "int4[N,3], float8e8m0[]", .attrs = "output_dtype=1", .n = 4, .low = 1, .high = 7},
    {.inputs = "float8e5m2[N,3], float32[]",
     .attrs = "output_dtype=bfloat16",
     .n = 4,
     .low = 1,
     .high = 9,
     .no_gradient = true},
    {0},
};

#define TYPES (DP_QUANTIZED | DP_BIT(DP_INT32))

const dp_op dp_op_DequantizeLinear = {
    .name = "DequantizeLinear",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("x", TYPES, 'T'), DP_OPERAND("x_scale", DP_FLOATS | DP_BIT(DP_FLOAT8E8M0), 0),
               DP_OPTIONAL("x_zero_point", TYPES, 'T')},
    .outputs = {DP_OPERAND("y", DP_FLOATS, 0)},
    .attrs = {DP_INT_ATTR("axis", 1), DP_INT_ATTR("block_size", 0), DP_INT_ATTR("output_dtype", 0)},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
