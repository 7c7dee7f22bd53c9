// Equal: a == b as bool, broadcast.
#include "backends/cpu/reference/elementwise.h"

#define ROW(T, U) DP_BINARY_ROW(equal_##T, T, bool, a == b)
DP_EACH_NUMBER(ROW)
DP_BINARY_ROW(equal_bool, bool, bool, a == b)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_binary_row rows[DP_MAX_TYPE + 1] = {
      [DP_FLOAT32] = equal_float, [DP_FLOAT64] = equal_double,  [DP_INT64] = equal_int64_t,
      [DP_INT32] = equal_int32_t, [DP_UINT64] = equal_uint64_t, [DP_BOOL] = equal_bool,
  };
  return dp_elementwise_binary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_Equal = {
    .name = "cpu.reference.Equal",
    .op = "Equal",
    .domain = "",
    .parts = true,
    .run = run,
};
