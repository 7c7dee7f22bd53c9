// Conv by Winograd's algorithm.
#include <string.h>

#include "backends/cpu/onednn/winograd.h"
#include "backends/cpu/reference/reference.h"

static bool match(const dp_kernel_spec *spec) {
  dp_winograd conv;
  return dp_winograd_of(spec, &spec->inputs[0].local, &spec->inputs[1].local, &conv);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  dp_winograd conv;
  if (!dp_winograd_of(spec, &spec->inputs[0].local, &spec->inputs[1].local, &conv)) return 0;
  return dp_winograd_scratch_bytes(spec, &conv);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  dp_winograd conv;
  if (!dp_winograd_of(spec, &spec->inputs[0].local, &spec->inputs[1].local, &conv))
    return dp_fail(EX_SOFTWARE, "a convolution that is none of Winograd's");
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
