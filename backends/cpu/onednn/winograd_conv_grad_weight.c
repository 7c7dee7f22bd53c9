// dp.ConvGradWeight(x, dy) by the transposed transforms of Winograd's algorithm.
#include <string.h>

#include "backends/cpu/onednn/winograd.h"
#include "backends/cpu/reference/reference.h"

static bool match(const dp_kernel_spec *spec) {
  dp_winograd conv;
  return dp_winograd_of(spec, &spec->inputs[0].local, &spec->outputs[0].local, &conv);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  dp_winograd conv;
  if (!dp_winograd_of(spec, &spec->inputs[0].local, &spec->outputs[0].local, &conv)) return 0;
  return dp_winograd_scratch_bytes(spec, &conv);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  dp_winograd conv;
  if (!dp_winograd_of(spec, &spec->inputs[0].local, &spec->outputs[0].local, &conv))
    return dp_fail(EX_SOFTWARE, "a convolution that is none of Winograd's");
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
