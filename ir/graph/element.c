// One element of a tensor. See element.h.
#include "ir/graph/element.h"

#include <math.h>
#include <string.h>

// ---- floats of at most 16 bits --------------------------------------------------------------------------------------

// The encoding of a magnitude: an exponent field above `mantissa` bits. bias 0: not such a float.
typedef struct {
  int mantissa, bias;
  uint16_t sign;      // the bit; 0: unsigned
  uint16_t most;      // the largest number
  uint16_t infinity;  // 0: there is none
  uint16_t nan;       // 0: there is none; the code of -0 stands for it
} format;

static const format formats[DP_MAX_TYPE + 1] = {
    [DP_FLOAT16] = {10, 15, 0x8000, 0x7bff, 0x7c00, 0x7e00},
    [DP_BFLOAT16] = {7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7fc0},
    [DP_FLOAT8E4M3FN] = {3, 7, 0x80, 0x7e, 0, 0x7f},
    [DP_FLOAT8E4M3FNUZ] = {3, 8, 0x80, 0x7f, 0, 0x80},  // -0 is NaN
    [DP_FLOAT8E5M2] = {2, 15, 0x80, 0x7b, 0x7c, 0x7f},
    [DP_FLOAT8E5M2FNUZ] = {2, 16, 0x80, 0x7f, 0, 0x80},  // -0 is NaN
    [DP_FLOAT4E2M1] = {1, 1, 0x8, 0x7, 0, 0},
    [DP_FLOAT8E8M0] = {0, 127, 0, 0xfe, 0, 0xff},
};

// A power of two: 0 and everything below the smallest become the smallest.
static uint16_t encode_scale(double value) {
  int exponent;
  if (value != value || value < 0) return 0xff;
  if (value == 0) return 0;
  double fraction = frexp(value, &exponent);  // [1/2, 1)
  int code = isinf(value) ? 0xff : exponent - 1 + 127 + (fraction >= 0.75);
  return (uint16_t)(code < 0 ? 0 : code > 0xfe ? 0xfe : code);
}

uint16_t dp_element_encode(dp_dtype dtype, double value, bool saturate) {
  const format *f = &formats[dtype];
  if (dtype == DP_FLOAT8E8M0) return encode_scale(value);
  if (value != value) return f->nan ? f->nan : f->sign;
  bool no_minus_zero = f->nan == f->sign && f->nan;
  uint16_t sign = signbit(value) ? f->sign : 0;
  double magnitude = fabs(value);
  uint32_t code = f->most + 1u;
  if (magnitude <= 0x1p128) {
    int exponent = magnitude > 0 ? ilogb(magnitude) : 1 - f->bias, least = 1 - f->bias;
    if (exponent < least) exponent = least;
    // In units in the last place. They include the leading bit of a normal number, which adds 1 to the exponent field.
    double units = nearbyint(ldexp(magnitude, f->mantissa - exponent));
    uint64_t wide = ((uint64_t)(exponent - least) << f->mantissa) + (uint64_t)units;
    code = wide > f->most ? f->most + 1u : (uint32_t)wide;
  }
  if (code > f->most) {
    if (!saturate && f->infinity) return (uint16_t)(f->infinity | sign);
    if (!saturate && f->nan) return f->nan == f->sign ? f->nan : (uint16_t)(f->nan | sign);
    code = f->most;
  }
  return !code && no_minus_zero ? 0 : (uint16_t)(code | sign);
}

double dp_element_decode(dp_dtype dtype, uint16_t bits) {
  const format *f = &formats[dtype];
  if (dtype == DP_FLOAT8E8M0) return bits == f->nan ? (double)NAN : ldexp(1, bits - f->bias);
  uint16_t magnitude = (uint16_t)(bits & (f->sign - 1));
  if (f->nan && (bits == f->nan || (f->nan != f->sign && magnitude > f->most && magnitude != f->infinity)))
    return (double)NAN;
  double value;
  if (f->infinity && magnitude == f->infinity) {
    value = (double)INFINITY;
  } else {
    int field = magnitude >> f->mantissa, leading = field ? 1 << f->mantissa : 0;
    int units = leading | (magnitude & ((1 << f->mantissa) - 1));
    value = ldexp(units, (field ? field : 1) - f->bias - f->mantissa);
  }
  return bits & f->sign ? -value : value;
}

// ---- any type -------------------------------------------------------------------------------------------------------

#define C_TYPES(CASE)       \
  CASE(DP_FLOAT32, float)   \
  CASE(DP_FLOAT64, double)  \
  CASE(DP_UINT8, uint8_t)   \
  CASE(DP_INT8, int8_t)     \
  CASE(DP_UINT16, uint16_t) \
  CASE(DP_INT16, int16_t)   \
  CASE(DP_INT32, int32_t)   \
  CASE(DP_INT64, int64_t)   \
  CASE(DP_UINT32, uint32_t) \
  CASE(DP_UINT64, uint64_t) \
  CASE(DP_BOOL, bool)

// An integer of `bits` bits; the other bits of its byte are ignored.
static double small_integer(uint8_t byte, int bits, bool has_sign) {
  int low = byte & ((1 << bits) - 1);
  return has_sign && low >> (bits - 1) ? low - (1 << bits) : low;
}

double dp_element_get(dp_dtype dtype, const void *element) {
  switch (dtype) {
#define GET(NUMBER, TYPE)          \
  case NUMBER: {                   \
    TYPE x;                        \
    memcpy(&x, element, sizeof x); \
    return (double)x;              \
  }
    C_TYPES(GET)
#undef GET
    case DP_UINT4:
    case DP_INT4:
      return small_integer(*(const uint8_t *)element, 4, dtype == DP_INT4);
    case DP_UINT2:
    case DP_INT2:
      return small_integer(*(const uint8_t *)element, 2, dtype == DP_INT2);
    default: {
      uint16_t bits = 0;
      if ((unsigned)dtype > DP_MAX_TYPE || !formats[dtype].bias) return 0;
      if (dtype == DP_FLOAT16 || dtype == DP_BFLOAT16)
        memcpy(&bits, element, sizeof bits);
      else
        bits = *(const uint8_t *)element;
      return dp_element_decode(dtype, bits);
    }
  }
}

// A double beyond the 64-bit range becomes the nearest integer in it, NaN becomes 0; a negative one keeps its bits.
static uint64_t to_integer(double value, bool has_sign) {
  if (value != value) return 0;
  if (has_sign && value >= 0x1p63) return INT64_MAX;
  if (value >= 0x1p64) return UINT64_MAX;
  if (value >= 0x1p63) return (uint64_t)value;
  return value <= -0x1p63 ? (uint64_t)INT64_MIN : (uint64_t)(int64_t)value;
}

static void set_float(dp_dtype dtype, void *element, double value) {
  if ((unsigned)dtype > DP_MAX_TYPE || !formats[dtype].bias) return;
  uint16_t bits = dp_element_encode(dtype, value, false);
  if (dtype == DP_FLOAT16 || dtype == DP_BFLOAT16)
    memcpy(element, &bits, sizeof bits);
  else
    *(uint8_t *)element = (uint8_t)bits;
}

void dp_element_set(dp_dtype dtype, void *element, double value) {
  uint64_t whole = to_integer(value, dtype != DP_UINT64);
  switch (dtype) {
#define STORE(NUMBER, TYPE, VALUE) \
  case NUMBER: {                   \
    TYPE x = (TYPE)(VALUE);        \
    memcpy(element, &x, sizeof x); \
    break;                         \
  }
    STORE(DP_FLOAT64, double, value)
    STORE(DP_FLOAT32, float, value)
    STORE(DP_BOOL, bool, value != 0)
    STORE(DP_UINT8, uint8_t, whole)
    STORE(DP_INT8, int8_t, whole)
    STORE(DP_UINT16, uint16_t, whole)
    STORE(DP_INT16, int16_t, whole)
    STORE(DP_INT32, int32_t, whole)
    STORE(DP_UINT32, uint32_t, whole)
    STORE(DP_INT64, int64_t, whole)
    STORE(DP_UINT64, uint64_t, whole)
    STORE(DP_UINT4, uint8_t, whole & 15)
    STORE(DP_INT4, int8_t, (int64_t)(whole << 60) >> 60)
    STORE(DP_UINT2, uint8_t, whole & 3)
    STORE(DP_INT2, int8_t, (int64_t)(whole << 62) >> 62)
#undef STORE
    default:
      set_float(dtype, element, value);
  }
}
