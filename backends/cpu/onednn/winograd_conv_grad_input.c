// dp.ConvGradInput(w, dy) by Winograd's algorithm: dy convolved with the weights turned by 180 degrees.
#include <string.h>

#include "backends/cpu/onednn/winograd.h"
#include "backends/cpu/reference/reference.h"

static bool match(const dp_kernel_spec *spec) {
  dp_winograd conv;
  return dp_winograd_of(spec, &spec->outputs[0].local, &spec->inputs[0].local, &conv);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  dp_winograd conv;
  if (!dp_winograd_of(spec, &spec->outputs[0].local, &spec->inputs[0].local, &conv)) return 0;
  conv = dp_winograd_turned(&conv);
  return dp_winograd_scratch_bytes(spec, &conv);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  dp_winograd conv;
  if (!dp_winograd_of(spec, &spec->outputs[0].local, &spec->inputs[0].local, &conv))
    return dp_fail(EX_SOFTWARE, "a convolution that is none of Winograd's");
  const dp_winograd_weights w = {in[0], 9, conv.x_channels * 9, true};
  conv = dp_winograd_turned(&conv);
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
