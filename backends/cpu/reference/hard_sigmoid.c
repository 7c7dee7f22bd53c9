// HardSigmoid: p[0] x + p[1] clamped to [0, 1]; p[0] is alpha, p[1] beta.
#include "backends/cpu/reference/parametric.h"

#define ROW(T, U)                                    \
  DP_PARAMETRIC_ROW(hard_sigmoid_##T, T,             \
                    (T)p[0] * x + (T)p[1] <= 0   ? 0 \
                    : (T)p[0] * x + (T)p[1] >= 1 ? 1 \
                                                 : (T)p[0] * x + (T)p[1])
DP_EACH_FLOAT(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_parametric_row rows[DP_MAX_TYPE + 1] = DP_FLOAT_ROWS(hard_sigmoid);
  double p[] = {dp_node_float(spec->node, "alpha", 0.2), dp_node_float(spec->node, "beta", 0.5)};
  return dp_parametric_run(&(dp_call){spec, in, out, scratch, part, parts}, rows, p);
}

const dp_kernel dp_kernel_reference_HardSigmoid = {
    .name = "cpu.reference.HardSigmoid",
    .op = "HardSigmoid",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
