// ReduceMean of float32, by vectors.
#include "backends/cpu/fast/reduce.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)scratch;
  return dp_fast_reduce_run(spec, state, in[0], out[0], part, parts, true);
}

const dp_kernel dp_kernel_fast_ReduceMean = {
    .name = "cpu.fast.ReduceMean",
    .op = "ReduceMean",
    DP_FAST_REDUCE,
    .run = run,
};
