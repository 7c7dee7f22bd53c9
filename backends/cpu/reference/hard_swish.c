// HardSwish: x times (x / 6 + 1/2 clamped to [0, 1]).
#include "backends/cpu/reference/elementwise.h"

#define ROW(T, U) DP_UNARY_ROW(hard_swish_##T, T, x *(x <= -3 ? 0 : x >= 3 ? 1 : x / 6 + (T)0.5))
DP_EACH_FLOAT(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_unary_row rows[DP_MAX_TYPE + 1] = DP_FLOAT_ROWS(hard_swish);
  return dp_elementwise_unary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_HardSwish = {
    .name = "cpu.reference.HardSwish",
    .op = "HardSwish",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
