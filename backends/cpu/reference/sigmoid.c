// Sigmoid: 1 / (1 + e^-x), computed so that the exponential cannot overflow.
#include "backends/cpu/reference/elementwise.h"

static double sigmoid(double x) {
  double e = exp(-fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

#define ROW(T, U) DP_UNARY_ROW(sigmoid_##T, T, sigmoid(x))
DP_EACH_FLOAT(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_unary_row rows[DP_MAX_TYPE + 1] = DP_FLOAT_ROWS(sigmoid);
  return dp_elementwise_unary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_Sigmoid = {
    .name = "cpu.reference.Sigmoid",
    .op = "Sigmoid",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
