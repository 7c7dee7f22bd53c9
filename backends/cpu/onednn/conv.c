// Conv by oneDNN.
#define KIND DP_PRIMITIVE_CONV
#include "backends/cpu/onednn/windowed_kernel.h"

const dp_kernel dp_kernel_onednn_Conv = {
    .name = "cpu.onednn.Conv",
    .op = "Conv",
    .domain = "",
    .priority = 10,
    .library = true,
    .blocked = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = dp_windowed_release,
    .packs = 1,
    .packed_bytes = dp_windowed_packed_bytes,
    .pack = dp_windowed_pack,
    .parts = true,
    .isa = true,
    .run = dp_windowed_run_conv,
};
