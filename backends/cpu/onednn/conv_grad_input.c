// dp.ConvGradInput(w, dy) by oneDNN.
#define KIND DP_PRIMITIVE_CONV_GRAD_INPUT
#include "backends/cpu/onednn/windowed_kernel.h"

const dp_kernel dp_kernel_onednn_dp_ConvGradInput = {
    .name = "cpu.onednn.dp.ConvGradInput",
    .op = "ConvGradInput",
    .domain = "dp",
    .priority = 10,
    .library = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = dp_windowed_release,
    .parts = true,
    .isa = true,
    .run = dp_windowed_run_conv_grad_input,
};
