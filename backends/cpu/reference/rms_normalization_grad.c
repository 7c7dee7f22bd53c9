// dp.RMSNormalizationGrad: the gradient of RMSNormalization.
#include "backends/cpu/reference/normalization_grad.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  return dp_normalization_grad_run(&(dp_call){spec, in, out, scratch, part, parts}, false);
}

const dp_kernel dp_kernel_reference_dp_RMSNormalizationGrad = {
    .name = "cpu.reference.dp.RMSNormalizationGrad",
    .op = "RMSNormalizationGrad",
    .domain = "dp",
    .in_place = true,
    .scratch_bytes = dp_normalization_grad_scratch_bytes,
    .run = run,
};
