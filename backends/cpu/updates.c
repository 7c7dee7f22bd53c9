// dp.Region of independent updates: each part of the kernel computes its share of every tensor, with the members'
// reference kernels, so the bits are theirs.
#include <stdlib.h>

#include "backends/cpu/member.h"
#include "ir/base/base.h"

static bool match(const dp_kernel_spec *spec) {
  if (!spec->region) return false;
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    const dp_kernel *kernel = dp_member_kernel(&member);
    if (!dp_op_is(member.spec.op, DP_OP_UPDATE) || !kernel || !kernel->parts || kernel->prepare ||
        kernel->scratch_bytes)
      return false;
  }
  return spec->region->n_members > 0 && dp_members_are_independent(spec);
}

typedef struct {
  const dp_kernel *kernel;
  dp_member_spec spec;
} prepared;

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_kernel_region *r = spec->region;
  prepared *members = calloc((size_t)r->n_members, sizeof *members);
  if (!members) return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
  for (int m = 0; m < r->n_members; m++) {
    dp_member_spec_make(spec->region, m, r->values, &members[m].spec);
    members[m].kernel = dp_member_kernel(&members[m].spec);
  }
  *state = members;
  return DP_OK;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)scratch;
  const dp_kernel_region *r = spec->region;
  const prepared *members = state;
  for (int m = 0; m < r->n_members; m++) {
    const dp_kernel_member *member = &r->members[m];
    const void *from[DP_MAX_OPERANDS];
    void *to[DP_MAX_OPERANDS];
    for (int i = 0; i < member->n_inputs; i++) from[i] = member->inputs[i] < 0 ? NULL : in[member->inputs[i]];
    for (int i = 0; i < member->n_outputs; i++)
      to[i] = member->outputs[i] < 0 ? NULL : out[member->outputs[i] - spec->n_inputs];
    DP_TRY(members[m].kernel->run(&members[m].spec.spec, NULL, from, to, NULL, part, parts));
  }
  return DP_OK;
}

const dp_kernel dp_kernel_updates_Region = {
    .name = "cpu.updates.dp.Region",
    .op = "Region",
    .domain = "dp",
    .types = DP_STORED,
    .priority = 1,
    .parts = true,
    .in_place = true,
    .match = match,
    .prepare = prepare,
    .release = free,
    .run = run,
};
