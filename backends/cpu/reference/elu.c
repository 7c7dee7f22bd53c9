// Elu: x, or p[0] (e^x - 1) where x is negative; p[0] is alpha.
#include "backends/cpu/reference/parametric.h"

#define ROW(T, U) DP_PARAMETRIC_ROW(elu_##T, T, x < 0 ? p[0] * expm1((double)x) : (double)x)
DP_EACH_FLOAT(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_parametric_row rows[DP_MAX_TYPE + 1] = DP_FLOAT_ROWS(elu);
  double p[] = {dp_node_float(spec->node, "alpha", 1)};
  return dp_parametric_run(&(dp_call){spec, in, out, scratch, part, parts}, rows, p);
}

const dp_kernel dp_kernel_reference_Elu = {
    .name = "cpu.reference.Elu",
    .op = "Elu",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
