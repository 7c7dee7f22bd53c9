// Slice.
#include "backends/base/slice_walk.h"
#include "backends/cpu/reference/strided_rows.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_strided_rows rows;
  DP_TRY(dp_slice_walk_make(spec->node, &spec->inputs[0].local, &spec->outputs[0].local, &rows));
  return dp_strided_rows_copy(&(dp_call){spec, in, out, scratch, part, parts}, &rows);
}

const dp_kernel dp_kernel_reference_Slice = {
    .name = "cpu.reference.Slice",
    .op = "Slice",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};
