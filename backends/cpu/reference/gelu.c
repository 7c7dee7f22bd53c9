// Gelu: x times the normal distribution function of x, or its approximation by tanh when p[0] is 1.
#include "backends/cpu/reference/parametric.h"

static double by_tanh(double x) { return x * 0.5 * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x))); }

#define ROW(T, U) \
  DP_PARAMETRIC_ROW(gelu_##T, T, p[0] ? by_tanh((double)x) : (double)x * 0.5 * erfc(-(double)x * 0.70710678118654752))
DP_EACH_FLOAT(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_parametric_row rows[DP_MAX_TYPE + 1] = DP_FLOAT_ROWS(gelu);
  double p[] = {!strcmp(dp_node_string(spec->node, "approximate", "none"), "tanh")};
  return dp_parametric_run(&(dp_call){spec, in, out, scratch, part, parts}, rows, p);
}

const dp_kernel dp_kernel_reference_Gelu = {
    .name = "cpu.reference.Gelu",
    .op = "Gelu",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
