// dp.RandomNormal(seed): normally distributed numbers with mean `mean` and standard deviation `scale`.
#include "backends/cpu/reference/random_numbers.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  double mean = dp_node_float(spec->node, "mean", 0), scale = dp_node_float(spec->node, "scale", 1);
  return dp_random_numbers(&(dp_call){spec, in, out, scratch, part, parts}, true, mean, scale);
}

const dp_kernel dp_kernel_reference_dp_RandomNormal = {
    .name = "cpu.reference.dp.RandomNormal",
    .op = "RandomNormal",
    .domain = "dp",
    .lays = DP_LAYOUT_OIHW16I32O,
    .parts = true,
    .run = run,
};
