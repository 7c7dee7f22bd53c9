// dp.Region with any members: runs of elementwise members are one launch each, and other members are computed by their
// own kernels, one after another. Values that are made by one launch and used by another are in scratch.
#include <stdlib.h>

#include "backends/cuda/kernels/alignment.h"
#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/expressions.h"
#include "backends/cuda/kernels/member.h"
#include "ir/kernel/extents.h"

// Members first .. end - 1. kernel: of a single member that is not elementwise; else NULL.
typedef struct {
  int first, end;
  const dp_kernel *kernel;
  dp_member_spec *spec;  // of that member
  void *state;
  dp_cuda_elementwise *elementwise;
} launch;

// ---- launches -------------------------------------------------------------------------------------------------------

static bool is_elementwise(const dp_kernel_region *r, int member) {
  dp_member_spec spec;
  dp_member_spec_make(r, member, r->values, &spec);
  return dp_cuda_expression_of(&spec.spec) != NULL;
}

static bool same_extents(const dp_kernel_region *r, int a, int b) {
  const dp_local *x = &r->values[r->members[a].outputs[0]].local, *y = &r->values[r->members[b].outputs[0]].local;
  bool same = x->rank == y->rank;
  for (int d = 0; same && d < x->rank; d++) same = x->extents[d] == y->extents[d];
  return same;
}

// The end of the run of elementwise members that starts at `first`, or of the single member. Values of one region that
// have equal extents for the largest part have equal ones for every part, so that smaller parts are not divided more.
static int end_of(const dp_kernel_region *r, int first) {
  int end = first + 1, ports = r->members[first].n_inputs + 1;
  if (!is_elementwise(r, first)) return end;
  while (end < r->n_members && is_elementwise(r, end) && same_extents(r, first, end)) {
    ports += r->members[end].n_inputs + 1;  // counts those twice that several members use
    if (ports > DP_CUDA_MAX_ELEMENTWISE) break;
    end++;
  }
  return end;
}

// Marks the values that members first .. end - 1 leave for others: results of the region, and operands of members that
// come later.
static void mark_kept(const dp_kernel_region *r, int n_ends, int first, int end, bool *kept) {
  for (int v = 0; v < r->n_values; v++) kept[v] = false;
  for (int m = first; m < end; m++)
    for (int k = 0; k < r->members[m].n_outputs; k++) {
      const int32_t value = r->members[m].outputs[k];
      if (value >= 0) kept[value] = value < n_ends;
    }
  for (int m = end; m < r->n_members; m++)
    for (int i = 0; i < r->members[m].n_inputs; i++) {
      const int32_t value = r->members[m].inputs[i];
      for (int p = first; p < end && value >= 0; p++)
        for (int k = 0; k < r->members[p].n_outputs; k++)
          if (r->members[p].outputs[k] == value) kept[value] = true;
    }
}

// A member that is not elementwise writes all its results, used or not.
static bool needs_room(const dp_kernel_region *r, int first, int end, const bool *kept, int32_t value) {
  return value >= 0 && r->values[value].present && (kept[value] || (end == first + 1 && !is_elementwise(r, first)));
}

// ---- match, scratch -------------------------------------------------------------------------------------------------

static bool match(const dp_kernel_spec *spec) {
  if (!spec->region || !spec->region->n_members) return false;
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    if (!dp_cuda_member_kernel(&member)) return false;
  }
  return true;
}

static uint64_t room_of_value(const dp_kernel_operand *v) {
  return dp_align_up((uint64_t)dp_local_count(&v->local) * dp_type_bytes(v->dtype), DP_CUDA_ALIGNMENT);
}

// Gives each value inside the region that needs it a place in scratch: offsets (values), unless NULL. Returns the
// bytes of all of them; UINT64_MAX: out of memory.
static uint64_t place_values(const dp_kernel_spec *spec, uint64_t *offsets) {
  const dp_kernel_region *r = spec->region;
  const int n_ends = spec->n_inputs + spec->n_outputs;
  uint64_t bytes = 0;
  bool *kept = malloc((size_t)r->n_values * sizeof *kept);
  if (!kept) return UINT64_MAX;
  for (int first = 0, end; first < r->n_members; first = end) {
    end = end_of(r, first);
    mark_kept(r, n_ends, first, end, kept);
    for (int m = first; m < end; m++)
      for (int k = 0; k < r->members[m].n_outputs; k++) {
        const int32_t value = r->members[m].outputs[k];
        if (value < n_ends || !needs_room(r, first, end, kept, value)) continue;
        if (offsets) offsets[value] = bytes;
        bytes += room_of_value(&r->values[value]);
      }
  }
  free(kept);
  return bytes;
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  uint64_t most = 0;
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    const dp_kernel *kernel = dp_cuda_member_kernel(&member);
    const uint64_t bytes = kernel && kernel->scratch_bytes ? kernel->scratch_bytes(&member.spec) : 0;
    if (bytes > most) most = bytes;
  }
  const uint64_t inside = place_values(spec, NULL);
  return inside == UINT64_MAX ? inside : inside + most;
}

// ---- prepare --------------------------------------------------------------------------------------------------------

typedef struct {
  int n_launches;
  launch *launches;   // (members) at most
  uint64_t *offsets;  // (values) in scratch
  uint64_t inside;    // bytes of values; the scratch of the current member comes after them
} region_state;

static void release(void *state) {
  region_state *s = state;
  if (!s) return;
  for (int i = 0; i < s->n_launches; i++) {
    launch *l = &s->launches[i];
    if (l->kernel && l->kernel->release && l->state) l->kernel->release(l->state);
    free(l->spec);
    dp_cuda_elementwise_free(l->elementwise);
  }
  free(s->launches);
  free(s->offsets);
  free(s);
}

static dp_status prepare_launch(const dp_kernel_spec *spec, launch *l, bool *kept) {
  const dp_kernel_region *r = spec->region;
  if (is_elementwise(r, l->first)) {
    mark_kept(r, spec->n_inputs + spec->n_outputs, l->first, l->end, kept);
    return dp_cuda_elementwise_make(r, l->first, l->end, kept, &l->elementwise);
  }
  l->spec = malloc(sizeof *l->spec);
  if (!l->spec) return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
  dp_member_spec_make(r, l->first, r->values, l->spec);
  l->kernel = dp_cuda_member_kernel(l->spec);
  return l->kernel->prepare ? l->kernel->prepare(&l->spec->spec, &l->state) : DP_OK;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_kernel_region *r = spec->region;
  region_state *s = calloc(1, sizeof *s);
  bool *kept = calloc((size_t)r->n_values, sizeof *kept);
  if (s) s->launches = calloc((size_t)r->n_members, sizeof *s->launches);
  if (s) s->offsets = calloc((size_t)r->n_values, sizeof *s->offsets);
  dp_status status = DP_OK;
  if (s && kept && s->launches && s->offsets) s->inside = place_values(spec, s->offsets);
  if (!s || !kept || !s->launches || !s->offsets || s->inside == UINT64_MAX)
    status = dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
  for (int first = 0, end; !status && first < r->n_members; first = end) {
    end = end_of(r, first);
    launch *l = &s->launches[s->n_launches++];
    *l = (launch){.first = first, .end = end};
    status = prepare_launch(spec, l, kept);
  }
  free(kept);
  if (status)
    release(s);
  else
    *state = s;
  return status;
}

// ---- enqueue --------------------------------------------------------------------------------------------------------

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  const region_state *s = state;
  const dp_cuda_values values = {spec->n_inputs, spec->n_outputs, in, out, scratch, s->offsets};
  for (int i = 0; i < s->n_launches; i++) {
    const launch *l = &s->launches[i];
    if (l->elementwise) {
      DP_TRY(dp_cuda_elementwise_enqueue(l->elementwise, queue, &values));
      continue;
    }
    const dp_kernel_member *member = &spec->region->members[l->first];
    const void *from[DP_MAX_OPERANDS] = {0};
    void *to[DP_MAX_OPERANDS] = {0};
    for (int k = 0; k < member->n_inputs; k++)
      if (member->inputs[k] >= 0) from[k] = dp_cuda_value_at(&values, member->inputs[k]);
    for (int k = 0; k < member->n_outputs; k++)
      if (member->outputs[k] >= 0) to[k] = dp_cuda_value_at(&values, member->outputs[k]);
    DP_TRY(l->kernel->enqueue(&l->spec->spec, l->state, queue, from, to, (char *)scratch + s->inside));
  }
  return DP_OK;
}

const dp_kernel dp_kernel_cuda_Region = {
    .name = "cuda.device.dp.Region",
    .op = "Region",
    .domain = "dp",
    .types = DP_STORED,
    .shares_state = true,
    .in_place = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = release,
    .enqueue = enqueue,
};
