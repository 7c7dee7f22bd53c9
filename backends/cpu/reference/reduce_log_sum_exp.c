// ReduceLogSumExp: the logarithm of the sum of e^x over the dims `axes`, computed relative to the largest x.
#include "backends/cpu/reference/reduce_fold.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  return dp_reduce_fold(&(dp_call){spec, in, out, scratch, part, parts}, DP_FOLD_LOG_SUM_EXP);
}

const dp_kernel dp_kernel_reference_ReduceLogSumExp = {
    .name = "cpu.reference.ReduceLogSumExp",
    .op = "ReduceLogSumExp",
    .domain = "",
    .parts = true,
    .run = run,
};
