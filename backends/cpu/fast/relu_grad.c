// dp.ReluGrad of float32 by vectors.
#include "backends/cpu/fast/binary.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const dp_vector_binary *rows = state;
  return dp_fast_binary_run(&(dp_call){spec, in, out, scratch, part, parts}, rows->relu_grad);
}

const dp_kernel dp_kernel_fast_dp_ReluGrad = {
    .name = "cpu.fast.dp.ReluGrad",
    .op = "ReluGrad",
    .domain = "dp",
    DP_FAST_BINARY,
    .run = run,
};
