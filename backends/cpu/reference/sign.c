// Sign: -1, 0 or 1; NaN stays NaN.
#include "backends/cpu/reference/elementwise.h"

#define ROW(T, U) DP_UNARY_ROW(sign_##T, T, x != x || x == 0 ? x : x > 0 ? (T)1 : (T)-1)
DP_EACH_NUMBER(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_unary_row rows[DP_MAX_TYPE + 1] = DP_NUMBER_ROWS(sign);
  return dp_elementwise_unary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_Sign = {
    .name = "cpu.reference.Sign",
    .op = "Sign",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
