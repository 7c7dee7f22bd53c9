// QuantizeLinear: x / y_scale, rounded to the nearest, ties to even, plus y_zero_point, limited to the range of the
// result's type: y_zero_point's, else output_dtype, else uint8. The quotient has the precision of y_scale unless
// `precision` names another. Specialized into elementary operators.
#include "ir/ops/quantize.h"

static dp_dtype type_of(const dp_node *node, const dp_value *zero) {
  int64_t named = dp_node_int(node, "output_dtype", 0);
  return zero ? zero->type->dtype : named ? (dp_dtype)named : DP_UINT8;
}

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  const dp_value *zero = dp_common_operand(node, 2);
  int64_t axis = dp_node_int(node, "axis", 1), block = dp_node_int(node, "block_size", 0);
  int64_t named = dp_node_int(node, "output_dtype", 0), precision = dp_node_int(node, "precision", 0);
  if (named && (named < 0 || named > DP_MAX_TYPE || !(DP_BIT(named) & DP_QUANTIZED)))
    return dp_fail(EX_DATAERR, "output_dtype is %lld, which cannot be quantized to", (long long)named);
  if (named && zero && (int64_t)zero->type->dtype != named)
    return dp_fail(EX_DATAERR, "output_dtype is %s, but y_zero_point has type %s", dp_type_name((dp_dtype)named),
                   dp_type_name(zero->type->dtype));
  if (precision && (precision < 0 || precision > DP_MAX_TYPE || !(DP_BIT(precision) & DP_FLOATS)))
    return dp_fail(EX_DATAERR, "precision is %lld, which is not a float type", (long long)precision);
  DP_TRY(dp_quantize_check("y_scale", dp_common_shape(node, 1), x, axis, block));
  if (zero) DP_TRY(dp_quantize_check("y_zero_point", &zero->type->shape, x, axis, block));
  dp_common_set(node, 0, type_of(node, zero), x);
  return DP_OK;
}

// The type to divide in: the scale's, or x's when nothing computes in the scale's.
static dp_dtype precision_of(const dp_node *node, const dp_value *x, const dp_value *scale) {
  int64_t named = dp_node_int(node, "precision", 0);
  if (named) return (dp_dtype)named;
  if (dp_type_is_float(scale->type->dtype)) return scale->type->dtype;
  return dp_type_is_float(x->type->dtype) ? x->type->dtype : DP_FLOAT32;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  const dp_shape *x = dp_common_shape(node, 0);
  dp_value *zero = node->n_inputs > 2 ? in[2] : NULL;
  int64_t axis = dp_node_int(node, "axis", 1), block = dp_node_int(node, "block_size", 0);
  dp_dtype precision = precision_of(node, in[0], in[1]), to = node->outputs[0]->type->dtype;
  dp_value *scale = dp_build_cast(b, in[1], precision);
  dp_value *quotient =
      dp_build2(b, "Div", dp_build_cast(b, in[0], precision), dp_quantize_spread(b, scale, x, axis, block));
  if (DP_BIT(to) & (DP_INTS | DP_SMALL_INTS)) {
    if (zero) zero = dp_quantize_spread(b, dp_build_cast(b, zero, DP_FLOAT32), x, axis, block);
    out[0] = dp_quantize_round(b, quotient, zero, to);
    return;
  }
  if (zero) {
    zero = dp_quantize_spread(b, dp_build_cast(b, zero, precision), x, axis, block);
    quotient = dp_build2(b, "Add", quotient, zero);
  }
  dp_attr attrs[] = {dp_attr_int("to", to), dp_attr_int("saturate", dp_node_int(node, "saturate", 1))};
  out[0] = dp_build(b, "Cast", 1, &quotient, 1, 2, attrs);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[]", .n = 4, .low = 0.5, .high = 60},
    {.inputs = "float32[N,3,2], float32[3], uint8[3]", .n = 3, .low = 1, .high = 90},
    {.inputs = "float32[N,3], float32[N], uint8[N]", .attrs = "axis=0", .n = 3, .low = 1, .high = 90},
    {.inputs = "float32[N,5], float32[N,3], uint8[N,3]", .attrs = "block_size=2", .n = 3, .low = 1, .high = 90},
    {.inputs = "float32[6], float32[2]", .attrs = "axis=-1, block_size=3, output_dtype=int4", .low = 1, .high = 9},
    {.inputs = "float32[N,3], float32[1]", .attrs = "output_dtype=float8e5m2, saturate=0", .n = 4, .low = 1, .high = 9},
    {.inputs = "float32[N,3], float32[], float8e4m3fn[]", .n = 4, .low = 1, .high = 9},
    {.inputs = "float32[N,3], float16[]", .attrs = "precision=1", .n = 4, .low = 1, .high = 99},
    {.inputs = "float32[N,3], float8e8m0[], int16[]", .n = 4, .low = 1, .high = 99},
    {.inputs = "int32[N,3], float32[]", .n = 4, .low = 1, .high = 99},
    {.inputs = "int32[N,3], int32[]", .attrs = "output_dtype=int8", .n = 4, .low = 1, .high = 99},
    {0},
};

const dp_op dp_op_QuantizeLinear = {
    .name = "QuantizeLinear",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("x", DP_FLOATS | DP_BIT(DP_INT32), 0),
               DP_OPERAND("y_scale", DP_FLOATS | DP_BIT(DP_INT32) | DP_BIT(DP_FLOAT8E8M0), 0),
               DP_OPTIONAL("y_zero_point", DP_QUANTIZED, 0)},
    .outputs = {DP_OPERAND("y", DP_QUANTIZED, 0)},
    .attrs = {DP_INT_ATTR("axis", 1), DP_INT_ATTR("saturate", 1), DP_INT_ATTR("block_size", 0),
              DP_INT_ATTR("output_dtype", 0), DP_INT_ATTR("precision", 0)},
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
