// GlobalAveragePool: the mean over all spatial dims.
#include "backends/cpu/reference/reduce.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  bool spatial[DP_MAX_RANK];
  for (int d = 0; d < DP_MAX_RANK; d++) spatial[d] = d >= 2;
  return dp_reduce(&(dp_call){spec, in, out, scratch, part, parts}, spatial, true);
}

const dp_kernel dp_kernel_reference_GlobalAveragePool = {
    .name = "cpu.reference.GlobalAveragePool",
    .op = "GlobalAveragePool",
    .domain = "",
    .parts = true,
    .run = run,
};
