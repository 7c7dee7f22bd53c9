// RMSNormalization of float32 by vectors: over the dims from `axis` on.
#include "backends/cpu/fast/normalization.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const dp_call call = {spec, in, out, scratch, part, parts};
  const dp_normalization_rows rows = dp_normalization_rows_inner(&call);
  return dp_fast_normalization_run(&call, &rows, state);
}

const dp_kernel dp_kernel_fast_RMSNormalization = {
    .name = "cpu.fast.RMSNormalization",
    .op = "RMSNormalization",
    .domain = "",
    .priority = 5,
    .library = true,
    .parts = true,
    .isa = true,
    .in_place = true,
    .shares_state = true,
    .match = dp_fast_normalization_match,
    .prepare = dp_fast_normalization_prepare,
    .run = run,
};
