// Cast: between any two types. Floats become integers by truncation, saturated to 64 bits (NaN becomes 0), then wrapped
// to the narrower type. As bool, anything but 0 is true. Narrow floats are rounded to nearest even from the exact
// value.
#include "backends/cpu/reference/half.h"
#include "backends/cpu/reference/reference.h"

// ---- rows of wide types and of bytes --------------------------------------------------------------------------------

typedef bool boolean;  // a name that macros can paste

static int64_t signed_of(double x) {
  if (x != x) return 0;
  if (x >= 0x1p63) return INT64_MAX;
  return x < -0x1p63 ? INT64_MIN : (int64_t)x;
}
static uint64_t unsigned_of(double x) {
  if (x >= 0x1p63) return x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
  return (uint64_t)signed_of(x);
}

#define INTEGER_CONVERSIONS(T)                             \
  static int64_t T##_as_signed(T x) { return (int64_t)x; } \
  static uint64_t T##_as_unsigned(T x) { return (uint64_t)x; }
#define FLOAT_CONVERSIONS(T)                                         \
  static int64_t T##_as_signed(T x) { return signed_of((double)x); } \
  static uint64_t T##_as_unsigned(T x) { return unsigned_of((double)x); }
INTEGER_CONVERSIONS(int64_t)
INTEGER_CONVERSIONS(uint64_t)
INTEGER_CONVERSIONS(int32_t)
INTEGER_CONVERSIONS(uint8_t)
INTEGER_CONVERSIONS(boolean)
FLOAT_CONVERSIONS(float)
FLOAT_CONVERSIONS(double)

typedef void (*cast_row)(int64_t count, const void *x, void *y);

// Defines a row function for a pair of types; VALUE is x, prepared for C's conversion.
#define ROW(T, R, VALUE)                                            \
  static void T##_to_##R(int64_t count, const void *px, void *py) { \
    const T *xs = px;                                               \
    R *ys = py;                                                     \
    for (int64_t i = 0; i < count; i++) {                           \
      T x = xs[i];                                                  \
      ys[i] = (R)(VALUE);                                           \
    }                                                               \
  }
#define ROWS_FROM(T)                   \
  ROW(T, float, x)                     \
  ROW(T, double, x)                    \
  ROW(T, int64_t, T##_as_signed(x))    \
  ROW(T, uint64_t, T##_as_unsigned(x)) \
  ROW(T, int32_t, T##_as_signed(x))    \
  ROW(T, uint8_t, T##_as_signed(x))    \
  ROW(T, boolean, x != 0)
ROWS_FROM(float)
ROWS_FROM(double)
ROWS_FROM(int64_t)
ROWS_FROM(uint64_t)
ROWS_FROM(int32_t)
ROWS_FROM(uint8_t)
ROWS_FROM(boolean)

#define TABLE_FROM(T)                                                                        \
  {                                                                                          \
    [DP_FLOAT32] = T##_to_float, [DP_FLOAT64] = T##_to_double, [DP_INT64] = T##_to_int64_t,  \
    [DP_UINT64] = T##_to_uint64_t, [DP_INT32] = T##_to_int32_t, [DP_UINT8] = T##_to_uint8_t, \
    [DP_BOOL] = T##_to_boolean                                                               \
  }

static const cast_row rows[DP_MAX_TYPE + 1][DP_MAX_TYPE + 1] = {
    [DP_FLOAT32] = TABLE_FROM(float),
    [DP_FLOAT64] = TABLE_FROM(double),
    [DP_INT64] = TABLE_FROM(int64_t),
    [DP_INT32] = TABLE_FROM(int32_t),
    [DP_UINT64] = TABLE_FROM(uint64_t),
    [DP_UINT8] = TABLE_FROM(uint8_t),
    [DP_BOOL] = TABLE_FROM(boolean),
    [DP_FLOAT32][DP_FLOAT16] = dp_half_to_float16,
    [DP_FLOAT32][DP_BFLOAT16] = dp_half_to_bfloat16,
    [DP_FLOAT16][DP_FLOAT32] = dp_half_from_float16,
    [DP_BFLOAT16][DP_FLOAT32] = dp_half_from_bfloat16,
};

// ---- any pair of types ----------------------------------------------------------------------------------------------

// A double that stands for a 64-bit integer: with the same low 32 bits, or, for a float target, with the same rounding
// to narrower floats. For that, the double's last bit is set if any bits did not fit.
static double from_64_bits(dp_dtype from, uint64_t bits, bool to_float) {
  if (!to_float) return (double)(bits & UINT32_MAX);
  bool minus = from == DP_INT64 && (int64_t)bits < 0;
  uint64_t magnitude = minus ? 0 - bits : bits;
  if (magnitude >> 53) magnitude = (magnitude >> 11 | ((magnitude & 0x7ff) != 0)) << 11;
  return minus ? -(double)magnitude : (double)magnitude;
}

static double value_of(dp_dtype from, const void *x, dp_dtype to) {
  if (from != DP_INT64 && from != DP_UINT64) return dp_element_get(from, x);
  uint64_t bits;
  memcpy(&bits, x, sizeof bits);
  return from_64_bits(from, bits, !(DP_BIT(to) & (DP_INTS | DP_SMALL_INTS)));
}

// Rounds x to a scale, which is a power of two.
static double scale_of(double x, const char *mode) {
  int exponent;
  if (!(x > 0) || isinf(x)) return x;
  bool power = frexp(x, &exponent) == 0.5;
  if (power || !strcmp(mode, "down")) return ldexp(1, exponent - 1);
  return strcmp(mode, "up") ? x : ldexp(1, exponent);
}

static void cast_any(const dp_node *node, dp_dtype from, const char *x, dp_dtype to, char *y, int64_t count) {
  bool saturate = dp_node_int(node, "saturate", 1) != 0, is_float8 = (DP_BIT(to) & DP_FLOAT8S) != 0;
  const char *mode = dp_node_string(node, "round_mode", "up");
  for (int64_t i = 0; i < count; i++, x += dp_type_bytes(from), y += dp_type_bytes(to)) {
    double value = value_of(from, x, to);
    if (to == DP_FLOAT8E8M0) value = scale_of(value, mode);
    if (is_float8)
      *(uint8_t *)y = (uint8_t)dp_element_encode(to, value, saturate);
    else
      dp_element_set(to, y, value);
  }
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  dp_dtype from = spec->inputs[0].dtype, to = spec->outputs[0].dtype;
  int64_t lo, hi;
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  const char *x = (const char *)in[0] + lo * (int64_t)dp_type_bytes(from);
  char *y = (char *)out[0] + lo * (int64_t)dp_type_bytes(to);
  if (lo < hi && rows[from][to])
    rows[from][to](hi - lo, x, y);
  else if (lo < hi)
    cast_any(spec->node, from, x, to, y, hi - lo);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Cast = {
    .name = "cpu.reference.Cast",
    .op = "Cast",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};
