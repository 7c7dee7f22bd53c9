// dp.ConvGradInput(w, dy) on small planes. See planes.h.
#define ROLES(spec) \
  { .x = &(spec)->outputs[0].local, .w = &(spec)->inputs[0].local, .backwards = true }
#include "backends/cpu/fast/planes_kernel.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)spec;
  const dp_planes *planes = state;
  for (int i = part; i < planes->parts; i += parts)
    DP_TRY(dp_planes_apply(planes, in[1], in[0], NULL, out[0], scratch, i));
  return DP_OK;
}

const dp_kernel dp_kernel_planes_dp_ConvGradInput = {
    .name = "cpu.planes.dp.ConvGradInput",
    .op = "ConvGradInput",
    .domain = "dp",
    PLANES,
};
