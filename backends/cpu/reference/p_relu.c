// PRelu: x, or slope * x where x is negative; slope broadcasts. Integers wrap.
#include "backends/cpu/reference/elementwise.h"

#define ROW(T, U) DP_BINARY_ROW(p_relu_##T, T, T, a < 0 ? (U)a * (U)b : (U)a)
DP_EACH_FLOAT(ROW)
ROW(int64_t, uint64_t)
ROW(int32_t, uint32_t)
DP_BINARY_ROW(p_relu_uint64_t, uint64_t, uint64_t, ((void)b, a))

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_binary_row rows[DP_MAX_TYPE + 1] = {
      [DP_FLOAT32] = p_relu_float, [DP_FLOAT64] = p_relu_double,  [DP_INT64] = p_relu_int64_t,
      [DP_INT32] = p_relu_int32_t, [DP_UINT64] = p_relu_uint64_t,
  };
  return dp_elementwise_binary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_PRelu = {
    .name = "cpu.reference.PRelu",
    .op = "PRelu",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
