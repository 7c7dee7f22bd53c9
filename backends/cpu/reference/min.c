// Min of two operands, broadcast. NaN wins, as in NumPy and PyTorch.
#include "backends/cpu/reference/elementwise.h"

#define ROW(T, U) DP_BINARY_ROW(min_##T, T, T, a < b || a != a ? a : b)
DP_EACH_NUMBER(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_binary_row rows[DP_MAX_TYPE + 1] = DP_NUMBER_ROWS(min);
  return dp_elementwise_binary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_Min = {
    .name = "cpu.reference.Min",
    .op = "Min",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
