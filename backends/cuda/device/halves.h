// Functions of numbers that come from floats of 16 bits and are rounded to these: fewer instructions than C's functions
// of float take, and an error that is small beside the rounding's. Relative errors are below 2e-5, and below 4e-6 where
// float16 has room for the result; rounding to bfloat16 makes 2e-3, to float16 2.4e-4. Infinities and NaN give what C's
// functions give.
#ifndef DP_BACKENDS_CUDA_DEVICE_HALVES_H
#define DP_BACKENDS_CUDA_DEVICE_HALVES_H

#include "backends/cuda/device/prelude.h"

// 2 to the power of x to 2^-22, 1 / x to 2^-23; results below 2^-126 may be 0.
#ifdef __CUDACC__
DP_DEVICE float dp_half_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
DP_DEVICE float dp_half_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// The smaller, the larger of two; NaN if x is.
DP_DEVICE float dp_half_least(float x, float y) {
  float z;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
DP_DEVICE float dp_half_most(float x, float y) {
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
#else
DP_DEVICE float dp_half_exp2(float x) { return exp2f(x); }
DP_DEVICE float dp_half_reciprocal(float x) { return 1 / x; }
DP_DEVICE float dp_half_least(float x, float y) { return x > y ? y : x; }
DP_DEVICE float dp_half_most(float x, float y) { return x < y ? y : x; }
#endif

// As the square of exp(x / 2), which is never below 2^-126 where the result is not 0.
DP_DEVICE float dp_half_exp(float x) {
  const float root = dp_half_exp2(x * 0.72134752044448170f);
  return root * root;
}

// x times a polynomial in x^2, which has the least relative error up to 2.75: beyond, the result rounds to 1.
DP_DEVICE float dp_half_erf(float x) {
  const float z = dp_half_most(dp_half_least(x, 2.75f), -2.75f), t = z * z;
  float p = -7.0036808e-9f;
  p = fmaf(p, t, 3.18687126e-7f);
  p = fmaf(p, t, -6.60742101e-6f);
  p = fmaf(p, t, 8.39819269e-5f);
  p = fmaf(p, t, -7.46512234e-4f);
  p = fmaf(p, t, 5.01787296e-3f);
  p = fmaf(p, t, -2.66319612e-2f);
  p = fmaf(p, t, 0.11269816f);
  p = fmaf(p, t, -0.376092889f);
  p = fmaf(p, t, 1.12837778f);
  return p * z;
}

// x times the normal distribution function. What lies below -|x| is exp(-x^2 / 2) times t times a polynomial in
// t = 1 / (1 + |x| / 5), which has the least relative error up to 16: beyond, the product is 0. The exponential is 2^24
// times as large and the polynomial as much smaller, so that the former is above 2^-126 where the product is not 0.
DP_DEVICE float dp_half_gelu(float x) {
  const float t = dp_half_reciprocal(fmaf(fabsf(x), 0.2f, 1.0f));
  const float bell = dp_half_exp2(fmaf(x * x, -0.72134752044448170f, 24.0f));
  float p = 0.276828546f * 0x1p-24f;
  p = fmaf(p, t, -0.37859749f * 0x1p-24f);
  p = fmaf(p, t, 0.434886923f * 0x1p-24f);
  p = fmaf(p, t, -0.114097231f * 0x1p-24f);
  p = fmaf(p, t, 0.128824172f * 0x1p-24f);
  p = fmaf(p, t, 0.0718695246f * 0x1p-24f);
  p = fmaf(p, t, 0.0802851037f * 0x1p-24f);
  const float below = p * t * bell;
  return x * (x < 0 ? below : 1 - below);
}

#endif
