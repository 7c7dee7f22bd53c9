// Cos of float32 by vectors.
#include "backends/cpu/fast/unary.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const dp_vector_unary *rows = state;
  return dp_fast_unary_run(&(dp_call){spec, in, out, scratch, part, parts}, rows->cos, 0);
}

const dp_kernel dp_kernel_fast_Cos = {
    .name = "cpu.fast.Cos",
    .op = "Cos",
    DP_FAST_UNARY,
    .run = run,
};
