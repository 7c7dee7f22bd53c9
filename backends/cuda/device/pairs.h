// Two floats of 16 bits in one word, the first in its lower half: so elementwise functions compute two results at once.
// Results have the bits that computing in float and rounding gives, but that a NaN may be any.
#ifndef DP_BACKENDS_CUDA_DEVICE_PAIRS_H
#define DP_BACKENDS_CUDA_DEVICE_PAIRS_H

#include "backends/cuda/device/prelude.h"

#define DP_PAIR_OF(x) ((dp_u32)(x).bits * 0x10001u)  // of one number twice

#ifdef __CUDACC__

DP_DEVICE dp_u32 dp_float16_pair(float low, float high) {
  dp_u32 y;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
  return y;
}
DP_DEVICE dp_u32 dp_bfloat16_pair(float low, float high) {
  dp_u32 y;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
  return y;
}

// x * y, x + y, x - y as x * y + z: from sm_80 on, GPUs have this instruction for both types. It rounds once.
#define DP_PAIRS(TYPE, NAME_OF, ONES, MINUS_ONES)                                                    \
  DP_DEVICE dp_u32 TYPE##_pair_fma(dp_u32 x, dp_u32 y, dp_u32 z) {                                   \
    dp_u32 result;                                                                                   \
    asm("fma.rn." NAME_OF " %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(z));               \
    return result;                                                                                   \
  }                                                                                                  \
  DP_DEVICE dp_u32 TYPE##_pair_mul(dp_u32 x, dp_u32 y) {                                             \
    return TYPE##_pair_fma(x, y, 0x80008000u); /* -0, which changes no product's sign */             \
  }                                                                                                  \
  DP_DEVICE dp_u32 TYPE##_pair_add(dp_u32 x, dp_u32 y) { return TYPE##_pair_fma(x, ONES, y); }       \
  DP_DEVICE dp_u32 TYPE##_pair_sub(dp_u32 x, dp_u32 y) { return TYPE##_pair_fma(y, MINUS_ONES, x); } \
  /* The larger ones; NaN is less than anything. */                                                  \
  DP_DEVICE dp_u32 TYPE##_pair_max(dp_u32 x, dp_u32 y) {                                             \
    dp_u32 result;                                                                                   \
    asm("max." NAME_OF " %0, %1, %2;" : "=r"(result) : "r"(x), "r"(y));                              \
    return result;                                                                                   \
  }

DP_PAIRS(dp_float16, "f16x2", 0x3c003c00u, 0xbc00bc00u)
DP_PAIRS(dp_bfloat16, "bf16x2", 0x3f803f80u, 0xbf80bf80u)

// The number in the lower half, or in the upper one.
DP_DEVICE float dp_float16_of_pair(dp_u32 pair, int upper) {
  const dp_float16 x = {(unsigned short)(upper ? pair >> 16 : pair)};
  return dp_float16_get(x);
}
DP_DEVICE float dp_bfloat16_of_pair(dp_u32 pair, int upper) {
  return dp_float_of(upper ? pair & 0xffff0000u : pair << 16);
}

#else

#define DP_PAIRS(TYPE)                                                                                            \
  DP_DEVICE float TYPE##_of_pair(dp_u32 pair, int upper) {                                                        \
    return TYPE##_get((TYPE){(unsigned short)(upper ? pair >> 16 : pair)});                                       \
  }                                                                                                               \
  DP_DEVICE dp_u32 TYPE##_pair(float low, float high) {                                                           \
    return TYPE##_put(low).bits | (dp_u32)TYPE##_put(high).bits << 16;                                            \
  }                                                                                                               \
  DP_DEVICE dp_u32 TYPE##_pair_mul(dp_u32 x, dp_u32 y) {                                                          \
    return TYPE##_pair(TYPE##_of_pair(x, 0) * TYPE##_of_pair(y, 0), TYPE##_of_pair(x, 1) * TYPE##_of_pair(y, 1)); \
  }                                                                                                               \
  DP_DEVICE dp_u32 TYPE##_pair_add(dp_u32 x, dp_u32 y) {                                                          \
    return TYPE##_pair(TYPE##_of_pair(x, 0) + TYPE##_of_pair(y, 0), TYPE##_of_pair(x, 1) + TYPE##_of_pair(y, 1)); \
  }                                                                                                               \
  DP_DEVICE dp_u32 TYPE##_pair_sub(dp_u32 x, dp_u32 y) {                                                          \
    return TYPE##_pair(TYPE##_of_pair(x, 0) - TYPE##_of_pair(y, 0), TYPE##_of_pair(x, 1) - TYPE##_of_pair(y, 1)); \
  }                                                                                                               \
  DP_DEVICE dp_u32 TYPE##_pair_max(dp_u32 x, dp_u32 y) {                                                          \
    return TYPE##_pair(fmaxf(TYPE##_of_pair(x, 0), TYPE##_of_pair(y, 0)),                                         \
                       fmaxf(TYPE##_of_pair(x, 1), TYPE##_of_pair(y, 1)));                                        \
  }

DP_PAIRS(dp_float16)
DP_PAIRS(dp_bfloat16)

#endif
#endif
