// dp.RandomUniform(seed): numbers in [low, high).
#include "backends/cpu/reference/random_numbers.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  double low = dp_node_float(spec->node, "low", 0), high = dp_node_float(spec->node, "high", 1);
  return dp_random_numbers(&(dp_call){spec, in, out, scratch, part, parts}, false, low, high - low);
}

const dp_kernel dp_kernel_reference_dp_RandomUniform = {
    .name = "cpu.reference.dp.RandomUniform",
    .op = "RandomUniform",
    .domain = "dp",
    .lays = DP_LAYOUT_OIHW16I32O,
    .parts = true,
    .run = run,
};
