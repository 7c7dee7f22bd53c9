// Quantized tensors: numbers q that represent (q - zero point) * scale. Building blocks of the operators on them.
#ifndef DP_IR_OPS_QUANTIZE_H
#define DP_IR_OPS_QUANTIZE_H

#include "ir/ops/elementwise.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DP_QUANTIZED_BYTES (DP_BIT(DP_INT8) | DP_BIT(DP_UINT8))
#define DP_QUANTIZED \
  (DP_QUANTIZED_BYTES | DP_BIT(DP_INT16) | DP_BIT(DP_UINT16) | DP_SMALL_INTS | DP_FLOAT8S | DP_BIT(DP_FLOAT4E2M1))

// Checks scales (or zero points; what: "x_scale", for the message) of an operand of shape x: one number, one for each
// position along `axis`, or, with block_size, one for each block there.
dp_status dp_quantize_check(const char *what, const dp_shape *scale, const dp_shape *x, int64_t axis,
                            int64_t block_size) DP_MUST_USE;
// Such scales as a value that broadcasts to x.
dp_value *dp_quantize_spread(dp_builder *builder, dp_value *scale, const dp_shape *x, int64_t axis, int64_t block_size);
// A vector along dim `dim` of `rank` dims, the others of extent 1; a single number as it is.
dp_value *dp_quantize_along(dp_builder *builder, dp_value *v, int dim, int rank);
// x - zero, both as type `to` first; zero NULL: x alone. zero broadcasts to x.
dp_value *dp_quantize_centred(dp_builder *builder, dp_value *x, dp_value *zero, dp_dtype to);
// Floats v rounded to the nearest integer, ties to even, plus zero (NULL: none), limited to the range of type `to` and
// cast.
dp_value *dp_quantize_round(dp_builder *builder, dp_value *v, dp_value *zero, dp_dtype to);

// Result 0 gets that type and the shape of MatMul of operands a and b (by number).
dp_status dp_quantize_infer_product(dp_node *node, int a, int b, dp_dtype dtype) DP_MUST_USE;
// Operand number `operand`, v, if present, must be one number, one for each position of dim `dim` of x, or of x's rank,
// with extents of x or 1.
dp_status dp_quantize_check_side(const dp_node *node, int operand, const dp_shape *x, int dim) DP_MUST_USE;
// Such numbers as a value that broadcasts to x; NULL stays NULL.
dp_value *dp_quantize_side(dp_builder *builder, dp_value *v, int dim, int rank);
// Converts sums of products of quantized numbers to the type `to`: times a's scale, times b's, divided by y's.
dp_value *dp_quantize_rescale(dp_builder *builder, dp_value *sums, dp_value *a_scale, dp_value *b_scale,
                              dp_value *y_scale, dp_value *y_zero, dp_dtype to);

#ifdef __cplusplus
}
#endif
#endif
