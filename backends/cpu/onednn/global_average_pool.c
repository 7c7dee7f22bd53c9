// GlobalAveragePool by oneDNN: an AveragePool with one window. The reference kernel computes split spatial dims, which
// give partial sums.
#define KIND DP_PRIMITIVE_GLOBAL_AVERAGE_POOL
#include "backends/cpu/onednn/windowed_kernel.h"

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
    .run = dp_windowed_run_pool,
};
