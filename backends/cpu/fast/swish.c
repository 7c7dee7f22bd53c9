// Swish of float32 by vectors.
#include "backends/cpu/fast/unary.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const dp_vector_unary *rows = state;
  const float alpha = (float)dp_node_float(spec->node, "alpha", 1);
  return dp_fast_unary_run(&(dp_call){spec, in, out, scratch, part, parts}, rows->swish, alpha);
}

const dp_kernel dp_kernel_fast_Swish = {
    .name = "cpu.fast.Swish",
    .op = "Swish",
    DP_FAST_UNARY,
    .run = run,
};
