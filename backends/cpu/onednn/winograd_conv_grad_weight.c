// dp.ConvGradWeight(x, dy) by the transposed transforms of Winograd's algorithm.
#define X inputs[0]
#define W outputs[0]
#define TURNED false
#include "backends/cpu/onednn/winograd_kernel.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  dp_winograd conv;
  if (!conv_of(spec, &conv)) return dp_fail(EX_SOFTWARE, "a convolution that is none of Winograd's");
  if (!conv.samples || !conv.x_channels) {
    if (!part && conv.x_channels) memset(out[0], 0, (size_t)dp_out_count(spec, 0) * sizeof(float));
    return DP_OK;
  }
  return dp_winograd_weights_grad(&conv, state, in[0], in[1], out[0], scratch, part, parts);
}

const dp_kernel dp_kernel_winograd_dp_ConvGradWeight = {
    .name = "cpu.winograd.dp.ConvGradWeight",
    .op = "ConvGradWeight",
    .domain = "dp",
    DP_WINOGRAD,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
