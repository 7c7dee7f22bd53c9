// Selu: p[0] x, or p[1] (e^x - 1) where x is negative; p[0] is gamma, p[1] gamma alpha.
#include "backends/cpu/reference/parametric.h"

#define ROW(T, U) DP_PARAMETRIC_ROW(selu_##T, T, x < 0 ? p[1] * expm1((double)x) : p[0] * (double)x)
DP_EACH_FLOAT(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_parametric_row rows[DP_MAX_TYPE + 1] = DP_FLOAT_ROWS(selu);
  double p[] = {dp_node_float(spec->node, "gamma", 0),
                dp_node_float(spec->node, "gamma", 0) * dp_node_float(spec->node, "alpha", 0)};
  return dp_parametric_run(&(dp_call){spec, in, out, scratch, part, parts}, rows, p);
}

const dp_kernel dp_kernel_reference_Selu = {
    .name = "cpu.reference.Selu",
    .op = "Selu",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
