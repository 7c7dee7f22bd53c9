// See member_chunks.h.
#include "backends/cpu/member_chunks.h"

#include <stdlib.h>

#include "backends/cpu/alignment.h"
#include "backends/cpu/widened.h"
#include "ir/base/base.h"

bool dp_member_chunks_match(const dp_kernel_spec *spec) {
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member, wide;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    if (!dp_member_kernel_of_rows(&member, false, &wide)) return false;
  }
  return spec->region->n_members > 0 && spec->region->n_values <= DP_CHUNK_VALUES;
}

// ---- scratch --------------------------------------------------------------------------------------------------------

// Values inside the region, and those that are staged, have slots of one chunk each, of the widest type. A slot is
// reused after the last member that reads its value.
typedef struct {
  int count;
  uint64_t bytes;                 // of each
  int16_t slot[DP_CHUNK_VALUES];  // (values) -1: none
  int32_t last[DP_CHUNK_VALUES];  // (values) the last member that reads it; -1: none does
  bool taken[DP_CHUNK_VALUES];    // (slots)
} slots;

static uint64_t bytes_of(const dp_member_chunk_sizes *sizes, uint64_t of_element) {
  return dp_align_up((uint64_t)sizes->elements * of_element, DP_CPU_ALIGNMENT);
}

static bool has_slot(const dp_kernel_spec *spec, const dp_member_chunk_sizes *sizes, int32_t v) {
  return v >= spec->n_inputs + spec->n_outputs || (v >= 0 && sizes->staged && sizes->staged[v]);
}

static void give_slot(slots *s, int32_t v) {
  if (s->slot[v] >= 0) return;
  int slot = 0;
  while (s->taken[slot] && slot < DP_CHUNK_VALUES - 1) slot++;
  s->taken[slot] = true;
  s->slot[v] = (int16_t)slot;
  if (slot >= s->count) s->count = slot + 1;
}

static void assign_slots(const dp_kernel_spec *spec, const dp_member_chunk_sizes *sizes, slots *s) {
  const dp_kernel_region *r = spec->region;
  uint64_t widest = 1;
  *s = (slots){0};
  for (int v = 0; v < r->n_values; v++) {
    s->slot[v] = -1;
    s->last[v] = -1;
    if (has_slot(spec, sizes, v) && dp_type_bytes(r->values[v].dtype) > widest)
      widest = dp_type_bytes(r->values[v].dtype);
  }
  for (int m = 0; m < r->n_members; m++)
    for (int i = 0; i < r->members[m].n_inputs; i++)
      if (r->members[m].inputs[i] >= 0) s->last[r->members[m].inputs[i]] = m;
  for (int m = 0; m < r->n_members; m++) {
    const dp_kernel_member *member = &r->members[m];
    for (int i = 0; i < member->n_inputs; i++)
      if (has_slot(spec, sizes, member->inputs[i])) give_slot(s, member->inputs[i]);
    for (int k = 0; k < member->n_outputs; k++)
      if (has_slot(spec, sizes, member->outputs[k])) give_slot(s, member->outputs[k]);
    for (int i = 0; i < member->n_inputs; i++)
      if (has_slot(spec, sizes, member->inputs[i]) && s->last[member->inputs[i]] == m)
        s->taken[s->slot[member->inputs[i]]] = false;
  }
  s->bytes = bytes_of(sizes, widest);
}

static uint64_t chunks_of(int count, const dp_kernel_operand *operands, const dp_member_chunk_sizes *sizes) {
  uint64_t bytes = 0;
  for (int i = 0; i < count; i++) {
    if (!operands[i].present) continue;
    const int64_t elements = dp_min_i64(sizes->elements, dp_local_count(&operands[i].local));
    bytes += dp_align_up((uint64_t)elements * dp_type_bytes(operands[i].dtype), DP_CPU_ALIGNMENT);
  }
  return bytes;
}

// What one chunk of any member needs when it is converted: no operand or result is longer than the chunk, or than it is
// in all.
static uint64_t wide_bytes(const dp_kernel_spec *spec, const dp_member_chunk_sizes *sizes) {
  uint64_t most = 0;
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member, wide;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    if (!dp_member_kernel_of_rows(&member, false, &wide) || !wide.spec.op) continue;
    const uint64_t bytes =
        chunks_of(wide.spec.n_inputs, wide.inputs, sizes) + chunks_of(wide.spec.n_outputs, wide.outputs, sizes);
    if (bytes > most) most = bytes;
  }
  return most;
}

uint64_t dp_member_chunks_scratch_bytes(const dp_kernel_spec *spec, const dp_member_chunk_sizes *sizes) {
  slots s;
  assign_slots(spec, sizes, &s);
  return (uint64_t)s.count * s.bytes + wide_bytes(spec, sizes);
}

// ---- members --------------------------------------------------------------------------------------------------------

// Arrays of two have what belongs to a chunk, and to the last one.
struct dp_member_chunks {
  slots slots;
  int n_members;
  dp_kernel_spec **members[2];  // (members)
  dp_kernel_spec **wide[2];     // (members) the same in wider types; NULL: computed in their own
  const dp_kernel **kernels;    // (members)
  void **states;                // (members) tables that nobody frees
};

void dp_member_chunks_release(dp_member_chunks *c) {
  if (!c) return;
  for (int last = 0; last < 2; last++) {
    for (int m = 0; c->members[last] && m < c->n_members; m++) free(c->members[last][m]);
    for (int m = 0; c->wide[last] && m < c->n_members; m++) free(c->wide[last][m]);
    free(c->members[last]);
    free(c->wide[last]);
  }
  free(c->states);
  free(c->kernels);
  free(c);
}

static dp_status out_of_memory(int n_members) {
  return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", n_members);
}

// wide: the member in wider types; NULL: its kernel takes its own.
static dp_status keep_member(dp_member_chunks *c, int m, bool last, const dp_kernel_spec *member,
                             const dp_kernel_spec *wide) {
  c->members[last][m] = dp_member_spec_keep(member);
  if (wide) c->wide[last][m] = dp_member_spec_keep(wide);
  return c->members[last][m] && (!wide || c->wide[last][m]) ? DP_OK : out_of_memory(c->n_members);
}

static dp_status prepare_member(dp_member_chunks *c, const dp_kernel_region *r, int m, bool fast,
                                dp_kernel_operand *const boxes[2]) {
  dp_member_spec made, wide;
  dp_member_spec_make(r, m, boxes[0], &made);
  const dp_kernel *kernel = c->kernels[m] = dp_member_kernel_of_rows(&made, fast, &wide);
  if (!kernel) return dp_fail(EX_SOFTWARE, "no kernel of parts for %s", made.spec.op->name);
  const bool is_wide = wide.spec.op != NULL;
  DP_TRY(keep_member(c, m, false, &made.spec, is_wide ? &wide.spec : NULL));
  if (kernel->prepare) DP_TRY(kernel->prepare(is_wide ? c->wide[0][m] : c->members[0][m], &c->states[m]));
  dp_member_spec_make(r, m, boxes[1], &made);
  if (is_wide) dp_widened_make(&made.spec, &wide);
  return keep_member(c, m, true, &made.spec, is_wide ? &wide.spec : NULL);
}

static dp_status prepare_members(dp_member_chunks *c, const dp_kernel_region *r, bool fast,
                                 dp_kernel_operand *const boxes[2]) {
  for (int m = 0; m < r->n_members; m++) DP_TRY(prepare_member(c, r, m, fast, boxes));
  return DP_OK;
}

static dp_status allocate(dp_member_chunks *c, int n_members) {
  const size_t n = (size_t)n_members;
  c->n_members = n_members;
  for (int last = 0; last < 2; last++) {
    c->members[last] = calloc(n, sizeof *c->members[last]);
    c->wide[last] = calloc(n, sizeof *c->wide[last]);
    if (!c->members[last] || !c->wide[last]) return out_of_memory(n_members);
  }
  c->kernels = calloc(n, sizeof *c->kernels);
  c->states = calloc(n, sizeof *c->states);
  return c->kernels && c->states ? DP_OK : out_of_memory(n_members);
}

dp_status dp_member_chunks_prepare(const dp_kernel_spec *spec, const dp_member_chunk_sizes *sizes, bool fast,
                                   dp_member_chunks_box *box, const void *context, dp_member_chunks **made) {
  const dp_kernel_region *r = spec->region;
  dp_member_chunks *c = calloc(1, sizeof *c);
  dp_kernel_operand *boxes = calloc(2 * (size_t)r->n_values, sizeof *boxes);
  dp_status status = c && boxes ? allocate(c, r->n_members) : out_of_memory(r->n_members);
  if (!status) {
    dp_kernel_operand *const of[2] = {boxes, boxes + r->n_values};
    assign_slots(spec, sizes, &c->slots);
    for (int last = 0; last < 2; last++)
      for (int v = 0; v < r->n_values; v++) {
        of[last][v] = r->values[v];
        if (of[last][v].present) of[last][v].local = box(context, &r->values[v].local, v, last);
      }
    status = prepare_members(c, r, fast, of);
  }
  free(boxes);
  if (status)
    dp_member_chunks_release(c);
  else
    *made = c;
  return status;
}

void dp_member_chunks_place(const dp_member_chunks *c, const dp_kernel_region *region, char *scratch, void **values) {
  for (int v = 0; v < region->n_values; v++)
    if (c->slots.slot[v] >= 0) values[v] = scratch + (uint64_t)c->slots.slot[v] * c->slots.bytes;
}

dp_status dp_member_chunks_run(const dp_member_chunks *c, const dp_kernel_region *region, int m, bool last,
                               void *const *values, char *scratch) {
  const void *from[DP_MAX_OPERANDS];
  void *to[DP_MAX_OPERANDS];
  dp_member_operands(&region->members[m], values, from, to);
  const dp_kernel_spec *member = c->members[last][m], *wide = c->wide[last][m];
  if (!wide) return c->kernels[m]->run(member, c->states[m], from, to, NULL, 0, 1);
  char *converted = scratch + (uint64_t)c->slots.count * c->slots.bytes;
  return dp_widened_run(member, wide, c->kernels[m], c->states[m], from, to, converted);
}
