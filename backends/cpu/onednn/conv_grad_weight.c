// dp.ConvGradWeight(x, dy) by oneDNN.
#define KIND DP_PRIMITIVE_CONV_GRAD_WEIGHT
#include "backends/cpu/onednn/windowed_kernel.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  return dp_windowed_run(spec, state, &(dp_primitive_data){in[0], out[0], NULL, in[1]}, out[0], scratch, part, parts);
}

const dp_kernel dp_kernel_onednn_dp_ConvGradWeight = {
    .name = "cpu.onednn.dp.ConvGradWeight",
    .op = "ConvGradWeight",
    .domain = "dp",
    .priority = 10,
    .library = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = dp_windowed_release,
    .own_threads = true,
    .isa = true,
    .run = run,
};
