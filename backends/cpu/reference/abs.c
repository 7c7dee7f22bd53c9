// Abs: |x|. The most negative integer has no counterpart and stays as it is.
#include "backends/cpu/reference/elementwise.h"

#define ROW(T, U) DP_UNARY_ROW(abs_##T, T, x > 0 ? (U)x : (U)0 - (U)x)
DP_EACH_NUMBER(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_unary_row rows[DP_MAX_TYPE + 1] = DP_NUMBER_ROWS(abs);
  return dp_elementwise_unary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_Abs = {
    .name = "cpu.reference.Abs",
    .op = "Abs",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
