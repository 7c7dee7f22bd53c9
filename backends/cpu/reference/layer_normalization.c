// LayerNormalization: normalises over the dims from `axis` on. The optional results are the mean and 1 / sqrt(variance
// + epsilon).
#include "backends/cpu/reference/normalization.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_call call = {spec, in, out, scratch, part, parts};
  dp_normalization_rows rows = dp_normalization_rows_inner(&call);
  rows.about_mean = true;
  rows.bias = dp_has_in(spec, 2) ? in[2] : NULL;
  rows.mean = dp_has_out(spec, 1) ? out[1] : NULL;
  rows.invstd = dp_has_out(spec, 2) ? out[2] : NULL;
  return dp_normalization_run(&call, &rows);
}

const dp_kernel dp_kernel_reference_LayerNormalization = {
    .name = "cpu.reference.LayerNormalization",
    .op = "LayerNormalization",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
