// dp.GroupedBatchNormalization: normalises every group of samples on this device by its own mean and variance. Results
// 3 and 4, mean and variance of the group with the first sample, are 0 on devices without that group.
#include "backends/cpu/reference/batch_normalization.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  const dp_sample_groups groups = dp_sample_groups_of(spec, &spec->outputs[1].local);
  const dp_batch_normalization b = {
      .training = true,
      .unbiased = dp_node_int(spec->node, "unbiased", 0) != 0,
      .epsilon = dp_node_float(spec->node, "epsilon", 1e-5),
      .saved_mean = out[1],
      .saved_invstd = out[2],
      .first_mean = dp_has_out(spec, 3) ? out[3] : NULL,
      .first_variance = dp_has_out(spec, 4) ? out[4] : NULL,
  };
  return dp_batch_normalization_run(&(dp_call){spec, in, out, scratch, part, parts}, &groups, &b);
}

const dp_kernel dp_kernel_reference_dp_GroupedBatchNormalization = {
    .name = "cpu.reference.dp.GroupedBatchNormalization",
    .op = "GroupedBatchNormalization",
    .domain = "dp",
    .parts = true,
    .run = run,
};
