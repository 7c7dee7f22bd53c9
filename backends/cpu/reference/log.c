// Log: the natural logarithm. Log of 0 is -infinity, of a negative number NaN.
#include "backends/cpu/reference/elementwise.h"

#define ROW(T, U) DP_UNARY_ROW(log_##T, T, sizeof(T) == 4 ? logf((float)x) : log(x))
DP_EACH_FLOAT(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_unary_row rows[DP_MAX_TYPE + 1] = DP_FLOAT_ROWS(log);
  return dp_elementwise_unary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_Log = {
    .name = "cpu.reference.Log",
    .op = "Log",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
