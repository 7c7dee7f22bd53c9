// dp.Region with any members: runs their reference kernels one after another, each on whole operands. Values inside the
// region are in scratch. Faster kernels of regions are compared with this one.
#include <stdlib.h>

#include "backends/cpu/alignment.h"
#include "backends/cpu/member.h"
#include "ir/base/base.h"

static uint64_t room_of(uint64_t bytes) { return dp_align_up(bytes, DP_CPU_ALIGNMENT); }

static uint64_t room_of_value(const dp_kernel_operand *v) {
  return v->present ? room_of((uint64_t)dp_local_count(&v->local) * dp_type_bytes(v->dtype)) : 0;
}

static bool match(const dp_kernel_spec *spec) {
  if (!spec->region) return false;
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    if (!dp_member_kernel(&member)) return false;
  }
  return spec->region->n_members > 0;
}

// Bytes of the values inside the region; the scratch of the current member comes after them.
static uint64_t inside_bytes(const dp_kernel_spec *spec) {
  uint64_t bytes = 0;
  for (int v = spec->n_inputs + spec->n_outputs; v < spec->region->n_values; v++)
    bytes += room_of_value(&spec->region->values[v]);
  return bytes;
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  uint64_t most = 0;
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    const dp_kernel *kernel = dp_member_kernel(&member);
    uint64_t bytes = kernel && kernel->scratch_bytes ? room_of(kernel->scratch_bytes(&member.spec)) : 0;
    if (bytes > most) most = bytes;
  }
  return inside_bytes(spec) + most;
}

typedef struct {
  const dp_kernel *kernel;
  dp_member_spec spec;
  void *state;
} prepared;

typedef struct {
  int n_members;
  void **values;  // addresses
  prepared members[];
} region_state;

static void release(void *state) {
  region_state *s = state;
  for (int m = 0; s && m < s->n_members; m++)
    if (s->members[m].kernel->release && s->members[m].state) s->members[m].kernel->release(s->members[m].state);
  if (s) free(s->values);
  free(s);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_kernel_region *r = spec->region;
  region_state *s = calloc(1, sizeof *s + (size_t)r->n_members * sizeof s->members[0]);
  if (s) s->values = calloc((size_t)r->n_values + 1, sizeof *s->values);
  if (!s || !s->values) {
    release(s);
    return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
  }
  dp_status status = DP_OK;
  for (int m = 0; m < r->n_members && !status; m++) {
    prepared *p = &s->members[s->n_members++];
    dp_member_spec_make(spec->region, m, r->values, &p->spec);
    p->kernel = dp_member_kernel(&p->spec);
    if (p->kernel->prepare) status = p->kernel->prepare(&p->spec.spec, &p->state);
  }
  if (status)
    release(s);
  else
    *state = s;
  return status;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)part, (void)parts;
  const dp_kernel_region *r = spec->region;
  region_state *s = state;
  char *free_at = scratch;
  for (int v = 0; v < r->n_values; v++) {
    if (v < spec->n_inputs) {
      s->values[v] = (void *)(uintptr_t)in[v];
    } else if (v < spec->n_inputs + spec->n_outputs) {
      s->values[v] = out[v - spec->n_inputs];
    } else {
      s->values[v] = free_at;
      free_at += room_of_value(&r->values[v]);
    }
  }
  for (int m = 0; m < r->n_members; m++) {
    const prepared *p = &s->members[m];
    const void *from[DP_MAX_OPERANDS] = {0};
    void *to[DP_MAX_OPERANDS] = {0};
    dp_member_operands(&r->members[m], s->values, from, to);
    DP_TRY(p->kernel->run(&p->spec.spec, p->state, from, to, free_at, 0, 1));
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Region = {
    .name = "cpu.reference.dp.Region",
    .op = "Region",
    .domain = "dp",
    .types = DP_STORED,
    .in_place = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = release,
    .run = run,
};
