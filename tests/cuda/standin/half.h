// Narrow floats, for the stand-ins of libraries. Those of 16 bits by dp_element_*, which tests of ir/graph prove.
#ifndef DP_TESTS_CUDA_STANDIN_HALF_H
#define DP_TESTS_CUDA_STANDIN_HALF_H

#include <string.h>

#include "ir/graph/element.h"

#define STANDIN_SAME(x) (x)
static inline float standin_get_float16(uint16_t x) { return (float)dp_element_decode(DP_FLOAT16, x); }
static inline float standin_get_bfloat16(uint16_t x) { return (float)dp_element_decode(DP_BFLOAT16, x); }
static inline uint16_t standin_put_float16(float x) { return dp_element_encode(DP_FLOAT16, (double)x, false); }
static inline uint16_t standin_put_bfloat16(float x) { return dp_element_encode(DP_BFLOAT16, (double)x, false); }

// TF32: float32's exponent, ten bits of fraction. To nearest, ties away from zero, as PTX's cvt.rna.tf32.f32, which is
// all that sm_80 has for it. What is rounded away from the largest numbers is infinite; NaN stays.
static inline float standin_round_tf32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0x1000u) & 0xffffe000u;
  memcpy(&x, &bits, sizeof bits);
  return x;
}

#endif
