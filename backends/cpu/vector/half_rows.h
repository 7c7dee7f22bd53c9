// The loops between float32 and 16 bits, in bits: each file that includes this compiles them for its instruction set.
// Choices are masks, all ones or zeros, as comparisons of integers are in vectors.
#ifndef DP_BACKENDS_CPU_VECTOR_HALF_ROWS_H
#define DP_BACKENDS_CPU_VECTOR_HALF_ROWS_H

#include <stdint.h>
#include <string.h>

#define DP_HALF_SIGN 0x80000000u
#define DP_HALF_INFINITE 0x7f800000u  // a float32's exponent of all ones
#define DP_HALF_QUIET 0x7fc00000u     // the float32 that every NaN becomes

static inline uint32_t dp_half_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float dp_half_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline uint32_t dp_half_choose(uint32_t mask, uint32_t yes, uint32_t no) { return (mask & yes) | (~mask & no); }

// All ones where a < b; both below 2^31.
static inline uint32_t dp_half_is_less(uint32_t a, uint32_t b) { return (uint32_t)((int32_t)(a - b) >> 31); }

static inline uint32_t dp_half_from_bfloat16_(uint16_t x) {
  const uint32_t bits = (uint32_t)x << 16;
  return dp_half_choose(dp_half_is_less(DP_HALF_INFINITE, bits & ~DP_HALF_SIGN), DP_HALF_QUIET, bits);
}

static inline uint16_t dp_half_to_bfloat16_(uint32_t x) {
  const uint32_t rounded = (x + 0x7fff + (x >> 16 & 1)) >> 16;
  return (uint16_t)dp_half_choose(dp_half_is_less(DP_HALF_INFINITE, x & ~DP_HALF_SIGN), DP_HALF_QUIET >> 16, rounded);
}

// The exponent is moved by a product with 2^112, which is exact and makes subnormal numbers normal.
static inline uint32_t dp_half_from_float16_(uint16_t x) {
  const uint32_t magnitude = x & 0x7fff, sign = (uint32_t)(x & 0x8000) << 16;
  const uint32_t number = dp_half_bits(dp_half_float(magnitude << 13) * 0x1p112f) | sign;
  const uint32_t wide = dp_half_choose(dp_half_is_less(magnitude, 0x7c00), number, DP_HALF_INFINITE | sign);
  return dp_half_choose(dp_half_is_less(0x7c00, magnitude), DP_HALF_QUIET, wide);
}

// A subnormal result is rounded by a sum with 1/2, whose last bit is worth 2^-24, the unit of subnormal float16; a
// normal one by a carry out of the 13 bits that go.
static inline uint16_t dp_half_to_float16_(uint32_t x) {
  const uint32_t magnitude = x & ~DP_HALF_SIGN, sign = x >> 16 & 0x8000;
  const uint32_t small =
      dp_half_bits(dp_half_float(dp_half_choose(dp_half_is_less(magnitude, 0x38800000), magnitude, 0)) + 0.5f) -
      0x3f000000;
  const uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  uint32_t code = dp_half_choose(dp_half_is_less(magnitude, 0x38800000), small, normal);
  code = dp_half_choose(dp_half_is_less(magnitude, 0x477ff000), code, 0x7c00);
  return (uint16_t)dp_half_choose(dp_half_is_less(DP_HALF_INFINITE, magnitude), 0x7e00, code | sign);
}

#define DP_HALF_ROW(NAME, FROM, TO, VALUE)                           \
  static inline void NAME(int64_t count, const void *px, void *py) { \
    const FROM *restrict x = px;                                     \
    TO *restrict y = py;                                             \
    for (int64_t i = 0; i < count; i++) y[i] = VALUE(x[i]);          \
  }
DP_HALF_ROW(dp_half_from_float16_row, uint16_t, uint32_t, dp_half_from_float16_)
DP_HALF_ROW(dp_half_from_bfloat16_row, uint16_t, uint32_t, dp_half_from_bfloat16_)
DP_HALF_ROW(dp_half_to_float16_row, uint32_t, uint16_t, dp_half_to_float16_)
DP_HALF_ROW(dp_half_to_bfloat16_row, uint32_t, uint16_t, dp_half_to_bfloat16_)

// A dp_vector_half of these loops.
#define DP_HALF_ROWS                                                                      \
  {                                                                                       \
    .from_float16 = dp_half_from_float16_row, .from_bfloat16 = dp_half_from_bfloat16_row, \
    .to_float16 = dp_half_to_float16_row, .to_bfloat16 = dp_half_to_bfloat16_row,         \
  }

#endif
