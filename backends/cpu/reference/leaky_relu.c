// LeakyRelu: x, or p[0] x where x is negative; p[0] is alpha.
#include "backends/cpu/reference/parametric.h"

#define ROW(T, U) DP_PARAMETRIC_ROW(leaky_relu_##T, T, x < 0 ? (T)p[0] * x : x)
DP_EACH_FLOAT(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_parametric_row rows[DP_MAX_TYPE + 1] = DP_FLOAT_ROWS(leaky_relu);
  double p[] = {dp_node_float(spec->node, "alpha", 0.01)};
  return dp_parametric_run(&(dp_call){spec, in, out, scratch, part, parts}, rows, p);
}

const dp_kernel dp_kernel_reference_LeakyRelu = {
    .name = "cpu.reference.LeakyRelu",
    .op = "LeakyRelu",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
