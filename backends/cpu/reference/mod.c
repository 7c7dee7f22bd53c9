// Mod: the remainder of a division, with the divisor's sign, or with the dividend's when fmod is 1; broadcast.
#include "backends/cpu/reference/elementwise.h"

// Avoids the one division that overflows, whose remainder is 0.
#define REMAINDER(a, b) ((b) == -1 ? 0 : (a) % (b))
#define ROW(T, U)                                    \
  DP_BINARY_ROW(dividend_##T, T, T, REMAINDER(a, b)) \
  DP_BINARY_ROW(divisor_##T, T, T,                   \
                REMAINDER(a, b) != 0 && (REMAINDER(a, b) < 0) != (b < 0) ? REMAINDER(a, b) + b : REMAINDER(a, b))
ROW(int64_t, uint64_t)
ROW(int32_t, uint32_t)
DP_BINARY_ROW(either_uint64_t, uint64_t, uint64_t, a % b)
DP_BINARY_ROW(dividend_float, float, float, fmodf(a, b))
DP_BINARY_ROW(dividend_double, double, double, fmod(a, b))

static dp_status check_divisor(const dp_kernel_spec *spec, const void *b) {
  dp_dtype dtype = spec->inputs[1].dtype;
  if (dp_type_is_float(dtype)) return DP_OK;
  for (int64_t i = 0, count = dp_in_count(spec, 1); i < count; i++)
    if (dp_element_get(dtype, (const char *)b + i * (int64_t)dp_type_bytes(dtype)) == 0)
      return dp_fail(EX_DATAERR, "an integer modulo 0 at index %lld", (long long)i);
  return DP_OK;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_binary_row rows[2][DP_MAX_TYPE + 1] = {
      {[DP_INT64] = divisor_int64_t, [DP_INT32] = divisor_int32_t, [DP_UINT64] = either_uint64_t},
      {[DP_FLOAT32] = dividend_float,
       [DP_FLOAT64] = dividend_double,
       [DP_INT64] = dividend_int64_t,
       [DP_INT32] = dividend_int32_t,
       [DP_UINT64] = either_uint64_t},
  };
  DP_TRY(check_divisor(spec, in[1]));
  return dp_elementwise_binary(&(dp_call){spec, in, out, scratch, part, parts},
                               rows[dp_node_int(spec->node, "fmod", 0) != 0]);
}

const dp_kernel dp_kernel_reference_Mod = {
    .name = "cpu.reference.Mod",
    .op = "Mod",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
