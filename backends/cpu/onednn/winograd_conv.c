// Conv by Winograd's algorithm.
#define X inputs[0]
#define W inputs[1]
#define TURNED false
#include "backends/cpu/onednn/winograd_kernel.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  dp_winograd conv;
  if (!conv_of(spec, &conv)) return dp_fail(EX_SOFTWARE, "a convolution that is none of Winograd's");
  const dp_winograd_weights w = {in[1], conv.x_channels * 9, 9, false};
  return dp_winograd_convolve(&conv, state, in[0], &w, dp_has_in(spec, 2) ? in[2] : NULL, out[0], scratch, part, parts);
}

const dp_kernel dp_kernel_winograd_Conv = {
    .name = "cpu.winograd.Conv",
    .op = "Conv",
    .domain = "",
    DP_WINOGRAD,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
