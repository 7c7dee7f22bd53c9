// See members.h.
//
// A value inside takes memory of its own, but for two cases: a view lies where its operand does, and a value that
// nothing reads any more leaves its memory to the next one with as many bytes. A member that may compute in place takes
// its first operand's.
#include "backends/cpu/members.h"

#include <stdlib.h>

#include "backends/cpu/alignment.h"
#include "ir/base/base.h"

static uint64_t room_of(uint64_t bytes) { return dp_align_up(bytes, DP_CPU_ALIGNMENT); }

uint64_t dp_members_bytes_of(const dp_kernel_operand *v) {
  return v->present ? room_of((uint64_t)dp_local_count(&v->local) * dp_type_bytes(v->dtype)) : 0;
}

bool dp_members_match(const dp_kernel_spec *spec, dp_members_choose *choose) {
  if (!spec->region) return false;
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    if (!choose(&member)) return false;
  }
  return spec->region->n_members > 0;
}

// ---- where values are -----------------------------------------------------------------------------------------------

typedef struct {
  const dp_kernel_spec *spec;  // while it is made
  int n_ends;                  // operands and results
  int32_t *home;               // (values) the value in whose memory it is: itself, or what it is a view of
  int *last;                   // (values) of homes: the last member that reads or writes it; -1: none
  bool *in_use;                // (values) of homes inside: has memory, which it has not left to another
  uint64_t *offset;            // (values) of homes inside
  uint64_t bytes;              // of all of them; the current member's scratch comes after
} placing;

// Not of an operand or a result of the region: another result may lie on an operand that only the view reads.
static bool is_view_inside(const dp_kernel_spec *spec, int m) {
  const dp_kernel_member *member = &spec->region->members[m];
  const int n_ends = spec->n_inputs + spec->n_outputs;
  return dp_op_is(member->op, DP_OP_VIEW) && member->inputs[0] >= n_ends && member->outputs[0] >= n_ends;
}

static void find_homes(placing *p) {
  const dp_kernel_region *r = p->spec->region;
  for (int32_t v = 0; v < r->n_values; v++) {
    p->home[v] = v;
    p->last[v] = -1;
  }
  for (int m = 0; m < r->n_members; m++) {
    const dp_kernel_member *member = &r->members[m];
    if (is_view_inside(p->spec, m)) p->home[member->outputs[0]] = p->home[member->inputs[0]];
    for (int i = 0; i < member->n_inputs; i++)
      if (member->inputs[i] >= 0) p->last[p->home[member->inputs[i]]] = m;
    for (int k = 0; k < member->n_outputs; k++)
      if (member->outputs[k] >= 0) p->last[p->home[member->outputs[k]]] = m;
  }
}

// Whether a result can replace the operand element by element. Memory of equal bytes is not enough: these are rounded.
static bool is_alike(const dp_kernel_operand *x, const dp_kernel_operand *y) {
  return x->dtype == y->dtype && dp_local_count(&x->local) == dp_local_count(&y->local);
}

// Memory inside that member m may write the value to: free before it, or its first operand's. -1: there is none.
static int32_t find_room(const placing *p, int m, int32_t value, bool in_place) {
  const dp_kernel_region *r = p->spec->region;
  const int32_t x = r->members[m].n_inputs ? r->members[m].inputs[0] : -1;
  for (int32_t old = p->n_ends; old < r->n_values; old++) {
    if (!p->in_use[old] || dp_members_bytes_of(&r->values[old]) != dp_members_bytes_of(&r->values[value])) continue;
    const bool is_first = in_place && x >= 0 && p->home[x] == old && value == r->members[m].outputs[0] &&
                          is_alike(&r->values[x], &r->values[value]);
    if (p->last[old] < m || (p->last[old] == m && is_first)) return old;
  }
  return -1;
}

// An operand that a member takes twice must not be replaced.
static bool takes_once(const dp_kernel_region *r, const placing *p, int m) {
  int times = 0;
  for (int i = 0; i < r->members[m].n_inputs; i++)
    times += r->members[m].inputs[i] >= 0 && p->home[r->members[m].inputs[i]] == p->home[r->members[m].inputs[0]];
  return times == 1;
}

static void place_all(placing *p, dp_members_choose *choose) {
  const dp_kernel_region *r = p->spec->region;
  find_homes(p);
  for (int m = 0; m < r->n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(r, m, r->values, &member);
    const dp_kernel *kernel = choose(&member);
    const bool in_place = kernel && kernel->in_place && r->members[m].n_inputs && takes_once(r, p, m);
    for (int k = 0; k < r->members[m].n_outputs; k++) {
      const int32_t v = r->members[m].outputs[k];
      if (v < p->n_ends || p->home[v] != v) continue;
      const int32_t old = find_room(p, m, v, in_place);
      p->in_use[v] = true;
      p->offset[v] = old < 0 ? p->bytes : p->offset[old];
      if (old < 0)
        p->bytes += dp_members_bytes_of(&r->values[v]);
      else
        p->in_use[old] = false;
    }
  }
}

static void forget(placing *p) {
  free(p->home);
  free(p->last);
  free(p->in_use);
  free(p->offset);
}

// The caller forgets it.
static dp_status place_values(const dp_kernel_spec *spec, dp_members_choose *choose, placing *p) {
  const size_t n = (size_t)spec->region->n_values + 1;
  *p = (placing){.spec = spec,
                 .n_ends = spec->n_inputs + spec->n_outputs,
                 .home = calloc(n, sizeof *p->home),
                 .last = calloc(n, sizeof *p->last),
                 .in_use = calloc(n, sizeof *p->in_use),
                 .offset = calloc(n, sizeof *p->offset)};
  if (!p->home || !p->last || !p->in_use || !p->offset)
    return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", spec->region->n_members);
  place_all(p, choose);
  return DP_OK;
}

// ---- the kernel's functions -----------------------------------------------------------------------------------------

typedef struct {
  const dp_kernel *kernel;  // NULL: for a view of what is inside there is nothing to do
  dp_member_spec spec;
  void *state;
} prepared;

typedef struct {
  placing placing;
  void **values;  // addresses
  int n_members;
  prepared *prepared;
} members;

uint64_t dp_members_scratch_bytes(const dp_kernel_spec *spec, dp_members_choose *choose) {
  placing p;
  dp_status status = place_values(spec, choose, &p);
  uint64_t most = status ? UINT64_MAX - p.bytes : 0;
  for (int m = 0; m < spec->region->n_members && !status; m++) {
    dp_member_spec member;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    const dp_kernel *kernel = choose(&member);
    const uint64_t bytes = kernel && kernel->scratch_bytes ? room_of(kernel->scratch_bytes(&member.spec)) : 0;
    if (bytes > most) most = bytes;
  }
  dp_status_free(status);
  forget(&p);
  return p.bytes + most;
}

void dp_members_release(void *state) {
  members *s = state;
  if (!s) return;
  for (int m = 0; s->prepared && m < s->n_members; m++) {
    const prepared *p = &s->prepared[m];
    if (p->kernel && p->kernel->release && p->state) p->kernel->release(p->state);
  }
  forget(&s->placing);
  free(s->values);
  free(s->prepared);
  free(s);
}

static dp_status prepare_all(const dp_kernel_spec *spec, dp_members_choose *choose, members *s) {
  const dp_kernel_region *r = spec->region;
  DP_TRY(place_values(spec, choose, &s->placing));
  s->values = calloc((size_t)r->n_values + 1, sizeof *s->values);
  s->prepared = calloc((size_t)r->n_members + 1, sizeof *s->prepared);
  if (!s->values || !s->prepared) return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
  for (int m = 0; m < r->n_members; m++) {
    prepared *p = &s->prepared[s->n_members++];
    if (is_view_inside(spec, m)) continue;
    dp_member_spec_make(r, m, r->values, &p->spec);
    const dp_kernel *kernel = choose(&p->spec);
    if (!kernel) return dp_fail(EX_SOFTWARE, "no kernel for %s in a region", p->spec.spec.op->name);
    if (kernel->prepare) DP_TRY(kernel->prepare(&p->spec.spec, &p->state));
    p->kernel = kernel;
  }
  return DP_OK;
}

dp_status dp_members_prepare(const dp_kernel_spec *spec, dp_members_choose *choose, void **state) {
  members *s = calloc(1, sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", spec->region->n_members);
  dp_status status = prepare_all(spec, choose, s);
  if (status)
    dp_members_release(s);
  else
    *state = s;
  return status;
}

dp_status dp_members_run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out,
                         void *scratch) {
  const dp_kernel_region *r = spec->region;
  const members *s = state;
  const placing *p = &s->placing;
  for (int v = 0; v < r->n_values; v++)
    s->values[v] = v < spec->n_inputs ? (void *)(uintptr_t)in[v]
                   : v < p->n_ends    ? out[v - spec->n_inputs]
                                      : (char *)scratch + p->offset[p->home[v]];
  for (int m = 0; m < r->n_members; m++) {
    const prepared *one = &s->prepared[m];
    const void *from[DP_MAX_OPERANDS] = {0};
    void *to[DP_MAX_OPERANDS] = {0};
    if (!one->kernel) continue;
    dp_member_operands(&r->members[m], s->values, from, to);
    DP_TRY(one->kernel->run(&one->spec.spec, one->state, from, to, (char *)scratch + p->bytes, 0, 1));
  }
  return DP_OK;
}
