// GlobalAveragePool by oneDNN: an AveragePool with one window. The reference kernel computes split spatial dims, which
// give partial sums.
#define KIND DP_PRIMITIVE_GLOBAL_AVERAGE_POOL
#include "backends/cpu/onednn/windowed_kernel.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  return dp_windowed_run(spec, state, &(dp_primitive_data){in[0], NULL, NULL, out[0]}, out[0], scratch, part, parts);
}

const dp_kernel dp_kernel_onednn_GlobalAveragePool = {
    .name = "cpu.onednn.GlobalAveragePool",
    .op = "GlobalAveragePool",
    .domain = "",
    .priority = 10,
    .library = true,
    .blocked = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = dp_windowed_release,
    .parts = true,
    .isa = true,
    .run = run,
};
