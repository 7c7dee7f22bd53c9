// What the expressions of elementwise operators (expressions.c) are written with. T is the type to compute in,
// of operand 0, and U the one in which its integers wrap; R is the result's.
#ifndef DP_BACKENDS_CUDA_DEVICE_ELEMENTWISE_H
#define DP_BACKENDS_CUDA_DEVICE_ELEMENTWISE_H

#include "backends/cuda/device/halves.h"
#include "backends/cuda/device/pairs.h"
#include "backends/cuda/device/prelude.h"
#include "backends/cuda/device/report.h"
#include "backends/cuda/device/vectors.h"

// C's function `name`, of one argument or two, for float or for double, as T is.
#define F1(name, x) (sizeof(T) == 4 ? (T)name##f((float)(x)) : (T)name((double)(x)))
#define F2(name, x, y) (sizeof(T) == 4 ? (T)name##f((float)(x), (float)(y)) : (T)name((double)(x), (double)(y)))

// Floats as integers: truncated, saturated to 64 bits, NaN as 0.
DP_DEVICE dp_i64 dp_signed_of(double x) {
  if (x != x) return 0;
  if (x >= 9223372036854775808.0) return 0x7fffffffffffffffll;
  return x < -9223372036854775808.0 ? -0x7fffffffffffffffll - 1 : (dp_i64)x;
}
DP_DEVICE dp_u64 dp_unsigned_of(double x) {
  if (x >= 9223372036854775808.0) return x >= 18446744073709551616.0 ? 0xffffffffffffffffull : (dp_u64)x;
  return (dp_u64)dp_signed_of(x);
}

// An integer to the power of y, wrapped.
DP_DEVICE dp_i64 dp_integer_power(dp_i64 x, double y) {
  if (y != floor(y) || y < 0) return dp_signed_of(pow((double)x, y));
  dp_u64 product = 1, factor = (dp_u64)x;
  for (dp_u64 left = y < 9223372036854775808.0 ? (dp_u64)y : 0x7fffffffffffffffull; left; left >>= 1, factor *= factor)
    if (left & 1) product *= factor;
  return (dp_i64)product;
}

#endif
