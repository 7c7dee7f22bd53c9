// Round: to the nearest integer, ties to even.
#include "backends/cpu/reference/elementwise.h"

#define ROW(T, U) DP_UNARY_ROW(round_##T, T, nearbyint((double)x))
DP_EACH_FLOAT(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_unary_row rows[DP_MAX_TYPE + 1] = DP_FLOAT_ROWS(round);
  return dp_elementwise_unary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_Round = {
    .name = "cpu.reference.Round",
    .op = "Round",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
