// Cast: every type to every type. Floats become integers by truncation, held to int64's range first, NaN to 0, then wrapped
// to the narrower type; anything but 0 becomes true.
#include "backends/cpu/reference/reference.h"

typedef bool boolean;  // a name that macros may paste

static int64_t integer_of(double x) {
  if (x != x) return 0;
  if (x >= 9223372036854775808.0) return INT64_MAX;
  if (x < -9223372036854775808.0) return INT64_MIN;
  return (int64_t)x;
}

#define FROM_INTEGER(T) \
  static int64_t T##_as_integer(T x) { return (int64_t)x; }
FROM_INTEGER(int64_t)
FROM_INTEGER(int32_t)
FROM_INTEGER(uint8_t)
FROM_INTEGER(boolean)
static int64_t float_as_integer(float x) { return integer_of((double)x); }
static int64_t double_as_integer(double x) { return integer_of(x); }

typedef void (*cast_row)(int64_t count, const void *x, void *y);

// A row function for every pair of types: VALUE is x made ready for the conversion that C does.
#define ROW(T, R, VALUE)                                            \
  static void T##_to_##R(int64_t count, const void *px, void *py) { \
    const T *xs = px;                                               \
    R *ys = py;                                                     \
    for (int64_t i = 0; i < count; i++) {                           \
      T x = xs[i];                                                  \
      ys[i] = (R)(VALUE);                                           \
    }                                                               \
  }
#define ROWS_FROM(T)                 \
  ROW(T, float, x)                   \
  ROW(T, double, x)                  \
  ROW(T, int64_t, T##_as_integer(x)) \
  ROW(T, int32_t, T##_as_integer(x)) \
  ROW(T, uint8_t, T##_as_integer(x)) \
  ROW(T, boolean, x != 0)
ROWS_FROM(float)
ROWS_FROM(double)
ROWS_FROM(int64_t)
ROWS_FROM(int32_t)
ROWS_FROM(uint8_t)
ROWS_FROM(boolean)

#define TABLE_FROM(T)                                                                       \
  {                                                                                         \
    [DP_FLOAT32] = T##_to_float, [DP_FLOAT64] = T##_to_double, [DP_INT64] = T##_to_int64_t, \
    [DP_INT32] = T##_to_int32_t, [DP_UINT8] = T##_to_uint8_t, [DP_BOOL] = T##_to_boolean    \
  }

static const cast_row rows[DP_MAX_TYPE + 1][DP_MAX_TYPE + 1] = {
    [DP_FLOAT32] = TABLE_FROM(float), [DP_FLOAT64] = TABLE_FROM(double), [DP_INT64] = TABLE_FROM(int64_t),
    [DP_INT32] = TABLE_FROM(int32_t), [DP_UINT8] = TABLE_FROM(uint8_t),  [DP_BOOL] = TABLE_FROM(boolean),
};

static bool match(const dp_kernel_spec *spec) { return rows[spec->inputs[0].dtype][spec->outputs[0].dtype] != NULL; }

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  dp_dtype from = spec->inputs[0].dtype, to = spec->outputs[0].dtype;
  int64_t lo, hi;
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  if (lo < hi)
    rows[from][to](hi - lo, (const char *)in[0] + lo * (int64_t)dp_type_bytes(from),
                   (char *)out[0] + lo * (int64_t)dp_type_bytes(to));
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Cast = {
    .name = "cpu.reference.Cast",
    .op = "Cast",
    .domain = "",
    .match = match,
    .parts = true,
    .run = run,
};
