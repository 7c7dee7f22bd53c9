// Size: the number of elements of the whole operand.
#include "backends/cpu/reference/reference.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)in, (void)scratch, (void)part, (void)parts;
  *(int64_t *)out[0] = dp_whole_count(&spec->inputs[0].local);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Size = {
    .name = "cpu.reference.Size",
    .op = "Size",
    .domain = "",
    .types = DP_STORED,
    .run = run,
};
