// Conv on small planes. See planes.h.
#define ROLES(spec) \
  { .x = &(spec)->inputs[0].local, .w = &(spec)->inputs[1].local }
#include "backends/cpu/fast/planes_kernel.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const dp_planes *planes = state;
  const float *bias = spec->n_inputs > 2 ? in[2] : NULL;
  for (int i = part; i < planes->parts; i += parts)
    DP_TRY(dp_planes_apply(planes, in[0], in[1], bias, out[0], scratch, i));
  return DP_OK;
}

const dp_kernel dp_kernel_planes_Conv = {
    .name = "cpu.planes.Conv",
    .op = "Conv",
    .domain = "",
    PLANES,
};
