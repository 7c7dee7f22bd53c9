// Not: logical not.
#include "backends/cpu/reference/elementwise.h"

DP_UNARY_ROW(not_bool, bool, !x)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_unary_row rows[DP_MAX_TYPE + 1] = {[DP_BOOL] = not_bool};
  return dp_elementwise_unary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_Not = {
    .name = "cpu.reference.Not",
    .op = "Not",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
