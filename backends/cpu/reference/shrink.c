// Shrink: x + p[1] where x < -p[0], x - p[1] where x > p[0], else 0; p[0] is lambd, p[1] bias.
#include "backends/cpu/reference/parametric.h"

#define ROW(T, U) DP_PARAMETRIC_ROW(shrink_##T, T, x<-p[0] ? (double)x + p[1] : x> p[0] ? (double)x - p[1] : 0)
DP_EACH_FLOAT(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_parametric_row rows[DP_MAX_TYPE + 1] = DP_FLOAT_ROWS(shrink);
  double p[] = {dp_node_float(spec->node, "lambd", 0.5), dp_node_float(spec->node, "bias", 0)};
  return dp_parametric_run(&(dp_call){spec, in, out, scratch, part, parts}, rows, p);
}

const dp_kernel dp_kernel_reference_Shrink = {
    .name = "cpu.reference.Shrink",
    .op = "Shrink",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
