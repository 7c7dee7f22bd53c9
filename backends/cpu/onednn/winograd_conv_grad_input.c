// dp.ConvGradInput(w, dy) by Winograd's algorithm: dy convolved with the weights turned by 180 degrees.
#define X outputs[0]
#define W inputs[0]
#define TURNED true
#include "backends/cpu/onednn/winograd_kernel.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  dp_winograd conv;
  if (!conv_of(spec, &conv)) return dp_fail(EX_SOFTWARE, "a convolution that is none of Winograd's");
  const dp_winograd_weights w = {in[0], 9, conv.y_channels * 9, true};
  return dp_winograd_convolve(&conv, state, in[1], &w, NULL, out[0], scratch, part, parts);
}

const dp_kernel dp_kernel_winograd_dp_ConvGradInput = {
    .name = "cpu.winograd.dp.ConvGradInput",
    .op = "ConvGradInput",
    .domain = "dp",
    DP_WINOGRAD,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
