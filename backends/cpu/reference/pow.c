// Pow: x to the power of y, of any two types; the result has x's. Integer powers of integers are products that wrap; a
// negative power truncates the fraction.
#ifndef T
#include "backends/cpu/reference/broadcast.h"

static double float_power(float x, double y) { return pow((double)x, y); }
static double double_power(double x, double y) { return pow(x, y); }

static int64_t int64_t_power(int64_t x, double y) {
  if (y != floor(y) || y < 0) return (int64_t)pow((double)x, y);
  uint64_t product = 1, factor = (uint64_t)x;
  for (uint64_t left = y < 0x1p63 ? (uint64_t)y : 0x7fffffffffffffffu; left; left >>= 1, factor *= factor)
    if (left & 1) product *= factor;
  return (int64_t)product;
}
static int32_t int32_t_power(int32_t x, double y) { return (int32_t)int64_t_power(x, y); }

#define T float
#include __FILE__
#define T double
#include __FILE__
#define T int64_t
#include __FILE__
#define T int32_t
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  dp_broadcast w = dp_broadcast_make(spec);
  dp_dtype power = spec->inputs[1].dtype;
  int64_t lo, hi;
  if (dp_out_count(spec, 0) == 0) return DP_OK;
  dp_part_range(dp_out_count(spec, 0) / w.extents[w.rank - 1], part, parts, &lo, &hi);
  switch (spec->inputs[0].dtype) {
    case DP_FLOAT32:
      raise_float(&w, power, in, out[0], lo, hi);
      break;
    case DP_FLOAT64:
      raise_double(&w, power, in, out[0], lo, hi);
      break;
    case DP_INT64:
      raise_int64_t(&w, power, in, out[0], lo, hi);
      break;
    default:
      raise_int32_t(&w, power, in, out[0], lo, hi);
      break;
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Pow = {
    .name = "cpu.reference.Pow",
    .op = "Pow",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};

#else

static void FN(raise)(const dp_broadcast *w, dp_dtype power, const void *const *in, T *z, int64_t lo, int64_t hi) {
  int64_t inner = w->extents[w->rank - 1], bytes = (int64_t)dp_type_bytes(power);
  int64_t x_stride = w->strides[0][w->rank - 1], y_stride = w->strides[1][w->rank - 1] * bytes;
  for (int64_t row = lo; row < hi; row++) {
    const T *x = (const T *)in[0] + dp_broadcast_row(w, 0, row);
    const char *y = (const char *)in[1] + dp_broadcast_row(w, 1, row) * bytes;
    for (int64_t i = 0; i < inner; i++)
      z[row * inner + i] = (T)DP_PASTE(T, power)(x[i * x_stride], dp_element_get(power, y + i * y_stride));
  }
}
#undef T
#endif
