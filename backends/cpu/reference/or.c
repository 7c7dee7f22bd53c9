// Or: logical or, broadcast.
#include "backends/cpu/reference/elementwise.h"

DP_BINARY_ROW(or_bool, bool, bool, a || b)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_binary_row rows[DP_MAX_TYPE + 1] = {[DP_BOOL] = or_bool};
  return dp_elementwise_binary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_Or = {
    .name = "cpu.reference.Or",
    .op = "Or",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
