// ReduceMin: the smallest element over the dims `axes`.
#include "backends/cpu/reference/reduce_fold.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  return dp_reduce_fold(&(dp_call){spec, in, out, scratch, part, parts}, DP_FOLD_MIN);
}

const dp_kernel dp_kernel_reference_ReduceMin = {
    .name = "cpu.reference.ReduceMin",
    .op = "ReduceMin",
    .domain = "",
    .types = DP_UPCAST | DP_INTS,
    .parts = true,
    .run = run,
};
