// ReduceL1: the sum of the absolute values over the dims `axes`.
#include "backends/cpu/reference/reduce_fold.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  return dp_reduce_fold(&(dp_call){spec, in, out, scratch, part, parts}, DP_FOLD_L1);
}

const dp_kernel dp_kernel_reference_ReduceL1 = {
    .name = "cpu.reference.ReduceL1",
    .op = "ReduceL1",
    .domain = "",
    .parts = true,
    .run = run,
};
