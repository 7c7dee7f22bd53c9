// dp.LayerNormalizationGrad of float32 by vectors.
#include <stdlib.h>

#include "backends/cpu/fast/normalization_grad.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  return dp_fast_normalization_grad_run(&(dp_call){spec, in, out, scratch, part, parts}, true, state);
}

const dp_kernel dp_kernel_fast_dp_LayerNormalizationGrad = {
    .name = "cpu.fast.dp.LayerNormalizationGrad",
    .op = "LayerNormalizationGrad",
    DP_FAST_NORMALIZATION_GRAD,
    .run = run,
};
