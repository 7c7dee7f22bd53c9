// ThresholdedRelu: x where it is greater than p[0], alpha, else 0.
#include "backends/cpu/reference/parametric.h"

#define ROW(T, U) DP_PARAMETRIC_ROW(thresholded_relu_##T, T, x <= (T)p[0] ? 0 : x)
DP_EACH_FLOAT(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_parametric_row rows[DP_MAX_TYPE + 1] = DP_FLOAT_ROWS(thresholded_relu);
  double p[] = {dp_node_float(spec->node, "alpha", 1)};
  return dp_parametric_run(&(dp_call){spec, in, out, scratch, part, parts}, rows, p);
}

const dp_kernel dp_kernel_reference_ThresholdedRelu = {
    .name = "cpu.reference.ThresholdedRelu",
    .op = "ThresholdedRelu",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
