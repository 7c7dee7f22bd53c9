// Softplus: log(1 + e^x), computed so that e^x cannot overflow.
#include "backends/cpu/reference/elementwise.h"

#define ROW(T, U) DP_UNARY_ROW(softplus_##T, T, fmax((double)x, 0) + log1p(exp(-fabs((double)x))))
DP_EACH_FLOAT(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_unary_row rows[DP_MAX_TYPE + 1] = DP_FLOAT_ROWS(softplus);
  return dp_elementwise_unary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_Softplus = {
    .name = "cpu.reference.Softplus",
    .op = "Softplus",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
