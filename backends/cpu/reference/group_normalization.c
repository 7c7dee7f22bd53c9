// GroupNormalization: normalises groups of channels of each sample; a device has whole groups.
#include "backends/cpu/reference/normalization.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_call call = {spec, in, out, scratch, part, parts};
  int64_t groups = dp_node_int(spec->node, "num_groups", 1);
  dp_normalization_rows rows = dp_normalization_rows_groups(&call, spec->inputs[0].local.whole[1] / groups);
  return dp_normalization_run(&call, &rows);
}

const dp_kernel dp_kernel_reference_GroupNormalization = {
    .name = "cpu.reference.GroupNormalization",
    .op = "GroupNormalization",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
