// One element of a tensor: the types with ONNX's numbers, and conversions between each type and a double.
#ifndef DP_IR_GRAPH_ELEMENT_H
#define DP_IR_GRAPH_ELEMENT_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// ONNX's TensorProto.DataType.
typedef enum {
  DP_NO_TYPE = 0,
  DP_FLOAT32 = 1,
  DP_UINT8 = 2,
  DP_INT8 = 3,
  DP_UINT16 = 4,
  DP_INT16 = 5,
  DP_INT32 = 6,
  DP_INT64 = 7,
  DP_BOOL = 9,
  DP_FLOAT16 = 10,
  DP_FLOAT64 = 11,
  DP_UINT32 = 12,
  DP_UINT64 = 13,
  DP_BFLOAT16 = 16,
  DP_FLOAT8E4M3FN = 17,
  DP_FLOAT8E4M3FNUZ = 18,
  DP_FLOAT8E5M2 = 19,
  DP_FLOAT8E5M2FNUZ = 20,
  DP_UINT4 = 21,  // these and all that follow, except float8e8m0, are stored one element a byte
  DP_INT4 = 22,
  DP_FLOAT4E2M1 = 23,
  DP_FLOAT8E8M0 = 24,  // a power of two, unsigned
  DP_UINT2 = 25,
  DP_INT2 = 26,
  DP_MAX_TYPE = 26,
} dp_dtype;

// The element as a double: exact except for integers beyond 2^53. 0 for an unknown type.
double dp_element_get(dp_dtype dtype, const void *element);
// Float types: rounds once, from the double, to nearest, ties to even; out of range as dp_element_encode without
// saturation. Integer types: truncates; a double beyond the 64-bit range (int64's, or uint64's for uint64) becomes the
// nearest integer in it, NaN becomes 0; then the low bits are stored. bool: whether the value is not 0.
void dp_element_set(dp_dtype dtype, void *element, double value);

// The bits of a float of 8 or 16 bits or fewer, from float16 to float4e2m1. Out of range: the largest number when
// saturated, else infinity, or NaN where the type has no infinity. float8e8m0: the nearest power of two, ties up.
uint16_t dp_element_encode(dp_dtype dtype, double value, bool saturate);
double dp_element_decode(dp_dtype dtype, uint16_t bits);

#ifdef __cplusplus
}
#endif
#endif
