// dp.GroupedBatchNormalizationGrad(x, scale, saved_mean, saved_invstd, dy) -> dx, dscale, dbias, with the statistics of
// each group of samples on this device; dscale and dbias are summed over the groups.
#include "backends/cpu/reference/batch_normalization.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_sample_groups groups = dp_sample_groups_of(spec, &spec->inputs[2].local);
  return dp_batch_normalization_grad(&(dp_call){spec, in, out, scratch, part, parts}, &groups);
}

const dp_kernel dp_kernel_reference_dp_GroupedBatchNormalizationGrad = {
    .name = "cpu.reference.dp.GroupedBatchNormalizationGrad",
    .op = "GroupedBatchNormalizationGrad",
    .domain = "dp",
    .parts = true,
    .run = run,
};
