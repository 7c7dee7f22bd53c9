// Clip: x clamped to [p[0], p[1]], min and max. If min > max, everything is max. NaN stays NaN.
#include "backends/cpu/reference/parametric.h"

#define ROW(T, U) DP_PARAMETRIC_ROW(clip_##T, T, (double)x > p[1] ? p[1] : (double)x < p[0] ? p[0] : (double)x)
DP_EACH_FLOAT(ROW)
// Bounds beyond the type's range have no effect.
#define INTEGER_ROW(T, U) DP_PARAMETRIC_ROW(clip_##T, T, (double)x > p[1] ? (T)p[1] : (double)x < p[0] ? (T)p[0] : x)
DP_EACH_INTEGER(INTEGER_ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_parametric_row rows[DP_MAX_TYPE + 1] = DP_NUMBER_ROWS(clip);
  double p[] = {dp_node_float(spec->node, "min", -INFINITY), dp_node_float(spec->node, "max", INFINITY)};
  if (p[0] > p[1]) p[0] = p[1];
  return dp_parametric_run(&(dp_call){spec, in, out, scratch, part, parts}, rows, p);
}

const dp_kernel dp_kernel_reference_Clip = {
    .name = "cpu.reference.Clip",
    .op = "Clip",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
