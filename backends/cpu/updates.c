// dp.Region of independent updates: each part of the kernel computes its share of every tensor. In
// cpu.updates.dp.Region by the members' reference kernels, so the bits are theirs; in cpu.fast_updates.dp.Region by
// their fast kernels, where there are any (backends/cpu/fast).
#include <stdlib.h>

#include "backends/cpu/member.h"
#include "ir/base/base.h"

static bool match(const dp_kernel_spec *spec) {
  if (!spec->region) return false;
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    if (!dp_op_is(member.spec.op, DP_OP_UPDATE) || !dp_member_kernel_of_parts(&member, false)) return false;
  }
  return spec->region->n_members > 0 && dp_members_are_independent(spec);
}

static bool match_fast(const dp_kernel_spec *spec) { return match(spec) && dp_members_have_fast_kernels(spec); }

typedef struct {
  const dp_kernel *kernel;
  dp_member_spec spec;
  void *state;  // a table that nobody frees
} prepared;

static dp_status prepare_updates(const dp_kernel_spec *spec, bool fast, void **state) {
  const dp_kernel_region *r = spec->region;
  prepared *members = calloc((size_t)r->n_members, sizeof *members);
  if (!members) return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
  dp_status status = DP_OK;
  for (int m = 0; m < r->n_members && !status; m++) {
    prepared *p = &members[m];
    dp_member_spec_make(spec->region, m, r->values, &p->spec);
    p->kernel = dp_member_kernel_of_parts(&p->spec, fast);
    if (!p->kernel)
      status = dp_fail(EX_SOFTWARE, "no kernel of parts for %s", p->spec.spec.op->name);
    else if (p->kernel->prepare)
      status = p->kernel->prepare(&p->spec.spec, &p->state);
  }
  if (status)
    free(members);
  else
    *state = members;
  return status;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return prepare_updates(spec, false, state); }
static dp_status prepare_fast(const dp_kernel_spec *spec, void **state) { return prepare_updates(spec, true, state); }

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
    DP_TRY(members[m].kernel->run(&members[m].spec.spec, members[m].state, from, to, NULL, part, parts));
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

const dp_kernel dp_kernel_fast_updates_Region = {
    .name = "cpu.fast_updates.dp.Region",
    .op = "Region",
    .domain = "dp",
    .types = DP_STORED,
    .priority = 5,
    .library = true,
    .parts = true,
    .isa = true,
    .in_place = true,
    .match = match_fast,
    .prepare = prepare_fast,
    .release = free,
    .run = run,
};
