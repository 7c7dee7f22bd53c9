// GreaterOrEqual: a >= b as bool, broadcast.
#include "backends/cpu/reference/elementwise.h"

#define ROW(T, U) DP_BINARY_ROW(greater_or_equal_##T, T, bool, a >= b)
DP_EACH_NUMBER(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_binary_row rows[DP_MAX_TYPE + 1] = DP_NUMBER_ROWS(greater_or_equal);
  return dp_elementwise_binary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_GreaterOrEqual = {
    .name = "cpu.reference.GreaterOrEqual",
    .op = "GreaterOrEqual",
    .domain = "",
    .parts = true,
    .run = run,
};
