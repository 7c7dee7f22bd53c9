// ReduceL2: the square root of the sum of squares over the dims `axes`.
#include "backends/cpu/reference/reduce_fold.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  return dp_reduce_fold(&(dp_call){spec, in, out, scratch, part, parts}, DP_FOLD_L2);
}

const dp_kernel dp_kernel_reference_ReduceL2 = {
    .name = "cpu.reference.ReduceL2",
    .op = "ReduceL2",
    .domain = "",
    .parts = true,
    .run = run,
};
