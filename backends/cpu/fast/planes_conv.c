// Conv on small planes. See planes.h.
#include "backends/cpu/fast/planes.h"
#include "backends/cpu/onednn/sgemm_code.h"

static dp_planes_roles roles_of(const dp_kernel_spec *spec) {
  return (dp_planes_roles){.x = &spec->inputs[0].local, .w = &spec->inputs[1].local};
}

static bool match(const dp_kernel_spec *spec) {
  const dp_planes_roles roles = roles_of(spec);
  return dp_planes_match(spec, &roles);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_planes_roles roles = roles_of(spec);
  return dp_planes_scratch_bytes(spec, &roles);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_planes_roles roles = roles_of(spec);
  return dp_planes_prepare(spec, &roles, state);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const dp_planes *planes = state;
  const dp_planes_roles roles = roles_of(spec);
  const float *bias = spec->n_inputs > 2 ? in[2] : NULL;
  for (int i = part; i < planes->parts; i += parts)
    DP_TRY(dp_planes_apply(planes, &roles, in[0], in[1], bias, out[0], scratch, i));
  return DP_OK;
}

const dp_kernel dp_kernel_planes_Conv = {
    .name = "cpu.planes.Conv",
    .op = "Conv",
    .domain = "",
    .priority = 12,
    .library = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .expect = dp_sgemm_code_expect,
    .prepare = prepare,
    .release = dp_planes_release,
    .parts = true,
    .isa = true,
    .run = run,
};
