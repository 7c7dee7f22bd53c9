// See half.h. Choices are masks, all ones or zeros, as comparisons of integers are in vectors.
#include "backends/cpu/reference/half.h"

#include <string.h>

#define SIGN 0x80000000u
#define INFINITE 0x7f800000u  // a float32's exponent of all ones
#define QUIET 0x7fc00000u     // the float32 that every NaN becomes

static inline uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline uint32_t choose(uint32_t mask, uint32_t yes, uint32_t no) { return (mask & yes) | (~mask & no); }

// All ones where a < b; both below 2^31.
static inline uint32_t is_less(uint32_t a, uint32_t b) { return (uint32_t)((int32_t)(a - b) >> 31); }

static inline uint32_t from_bfloat16(uint16_t x) {
  const uint32_t bits = (uint32_t)x << 16;
  return choose(is_less(INFINITE, bits & ~SIGN), QUIET, bits);
}

static inline uint16_t to_bfloat16(uint32_t x) {
  const uint32_t rounded = (x + 0x7fff + (x >> 16 & 1)) >> 16;
  return (uint16_t)choose(is_less(INFINITE, x & ~SIGN), QUIET >> 16, rounded);
}

// The exponent is moved by a product with 2^112, which is exact and makes subnormal numbers normal.
static inline uint32_t from_float16(uint16_t x) {
  const uint32_t magnitude = x & 0x7fff, sign = (uint32_t)(x & 0x8000) << 16;
  const uint32_t number = bits_of(float_of(magnitude << 13) * 0x1p112f) | sign;
  const uint32_t wide = choose(is_less(magnitude, 0x7c00), number, INFINITE | sign);
  return choose(is_less(0x7c00, magnitude), QUIET, wide);
}

// A subnormal result is rounded by a sum with 1/2, whose last bit is worth 2^-24, the unit of subnormal float16; a
// normal one by a carry out of the 13 bits that go.
static inline uint16_t to_float16(uint32_t x) {
  const uint32_t magnitude = x & ~SIGN, sign = x >> 16 & 0x8000;
  const uint32_t small = bits_of(float_of(choose(is_less(magnitude, 0x38800000), magnitude, 0)) + 0.5f) - 0x3f000000;
  const uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  uint32_t code = choose(is_less(magnitude, 0x38800000), small, normal);
  code = choose(is_less(magnitude, 0x477ff000), code, 0x7c00);
  return (uint16_t)choose(is_less(INFINITE, magnitude), 0x7e00, code | sign);
}

#define ROW(NAME, FROM, TO, VALUE)                          \
  void NAME(int64_t count, const void *px, void *py) {      \
    const FROM *restrict x = px;                            \
    TO *restrict y = py;                                    \
    for (int64_t i = 0; i < count; i++) y[i] = VALUE(x[i]); \
  }
ROW(dp_half_from_float16, uint16_t, uint32_t, from_float16)
ROW(dp_half_from_bfloat16, uint16_t, uint32_t, from_bfloat16)
ROW(dp_half_to_float16, uint32_t, uint16_t, to_float16)
ROW(dp_half_to_bfloat16, uint32_t, uint16_t, to_bfloat16)
