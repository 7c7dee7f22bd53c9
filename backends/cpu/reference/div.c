// Div: a / b, broadcast. Floats follow IEEE 754; integers truncate, the one quotient that overflows wraps, and division
// by 0 is an error.
#include "backends/cpu/reference/elementwise.h"

DP_BINARY_ROW(div_float, float, float, a / b)
DP_BINARY_ROW(div_double, double, double, a / b)
DP_BINARY_ROW(div_int64_t, int64_t, int64_t, b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b)
DP_BINARY_ROW(div_int32_t, int32_t, int32_t, b == -1 ? (int32_t)(0 - (uint32_t)a) : a / b)
DP_BINARY_ROW(div_uint64_t, uint64_t, uint64_t, a / b)

static dp_status check_divisor(const dp_kernel_spec *spec, const void *b) {
  dp_dtype dtype = spec->inputs[1].dtype;
  if (dp_type_is_float(dtype)) return DP_OK;
  for (int64_t i = 0, count = dp_in_count(spec, 1); i < count; i++)
    if (dp_element_get(dtype, (const char *)b + i * (int64_t)dp_type_bytes(dtype)) == 0)
      return dp_fail(EX_DATAERR, "integer division by 0 at index %lld", (long long)i);
  return DP_OK;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_binary_row rows[DP_MAX_TYPE + 1] = DP_NUMBER_ROWS(div);
  DP_TRY(check_divisor(spec, in[1]));
  return dp_elementwise_binary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_Div = {
    .name = "cpu.reference.Div",
    .op = "Div",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
