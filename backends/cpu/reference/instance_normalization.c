// InstanceNormalization: normalises each channel of each sample.
#include "backends/cpu/reference/normalization.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_call call = {spec, in, out, scratch, part, parts};
  dp_normalization_rows rows = dp_normalization_rows_groups(&call, 1);
  return dp_normalization_run(&call, &rows);
}

const dp_kernel dp_kernel_reference_InstanceNormalization = {
    .name = "cpu.reference.InstanceNormalization",
    .op = "InstanceNormalization",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
