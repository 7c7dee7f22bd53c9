// dp.Region of members that work on rows: pointwise ones, whose rows are single elements, reductions over the last
// dims, softmax, normalizations of rows. Results are computed in chunks of whole rows that stay in the cache: all
// members of a chunk before the next chunk, so memory is read and written once.
//
// There are two such kernels. In cpu.rows.dp.Region the members' reference kernels compute each chunk, so the bits are
// theirs. In cpu.fast_rows.dp.Region members have their fast kernels, where there are any (backends/cpu/fast).
//
// A chunk is a box that is contiguous in the region's frame, the extents of its largest values: a range of one dim
// before the row, and everything in the dims after it. An operand that is broadcast has the same box with extent 1
// where it is broadcast, and so has what a member reduced. Both are contiguous too.
//
// A member of types that kernels do not compute in, such as 16-bit floats, is computed in wider ones, and each of its
// results is rounded: chunk by chunk, with the bits that it has by itself.
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/alignment.h"
#include "backends/cpu/row_frame.h"
#include "backends/cpu/rows.h"
#include "backends/cpu/widened.h"
#include "ir/base/base.h"

enum { MAX_VALUES = 256 };  // of a region

// ---- what it takes --------------------------------------------------------------------------------------------------

static bool match(const dp_kernel_spec *spec) {
  dp_row_frame f;
  if (!spec->region || !spec->n_outputs || spec->region->n_values > MAX_VALUES || !dp_row_frame_of(spec, &f))
    return false;
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member, wide;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    if (!dp_member_kernel_of_rows(&member, false, &wide)) return false;
  }
  return spec->region->n_members > 0;
}

static bool match_fast(const dp_kernel_spec *spec) { return match(spec) && dp_members_have_fast_kernels(spec); }

// ---- scratch --------------------------------------------------------------------------------------------------------

// Values inside the region have slots of one chunk each, of the widest type. A slot is reused after the last member
// that reads its value.
typedef struct {
  int count;
  uint64_t bytes;            // of each
  int16_t slot[MAX_VALUES];  // (values) of what stays inside
} slots;

// Of the longest chunk that a frame of these extents or smaller ones is divided into.
static uint64_t bytes_of_chunk(const dp_row_frame *f, uint64_t of_element) {
  const int64_t count =
      dp_min_i64(dp_row_frame_elements(f, 0), dp_max_i64(DP_ROW_CHUNK, dp_row_frame_elements(f, f->row)));
  return dp_align_up((uint64_t)count * of_element, DP_CPU_ALIGNMENT);
}

static slots assign_slots(const dp_kernel_spec *spec, const dp_row_frame *f) {
  const dp_kernel_region *r = spec->region;
  const int n_ends = spec->n_inputs + spec->n_outputs;
  int32_t last[MAX_VALUES];
  bool taken[MAX_VALUES] = {false};
  slots s = {0};
  uint64_t widest = 1;
  for (int v = n_ends; v < r->n_values; v++) {
    last[v] = -1;
    if (dp_type_bytes(r->values[v].dtype) > widest) widest = dp_type_bytes(r->values[v].dtype);
  }
  for (int m = 0; m < r->n_members; m++)
    for (int i = 0; i < r->members[m].n_inputs; i++)
      if (r->members[m].inputs[i] >= n_ends) last[r->members[m].inputs[i]] = m;
  for (int m = 0; m < r->n_members; m++) {
    const dp_kernel_member *member = &r->members[m];
    for (int k = 0; k < member->n_outputs; k++) {
      if (member->outputs[k] < n_ends) continue;
      int free_slot = 0;
      while (taken[free_slot] && free_slot < MAX_VALUES - 1) free_slot++;
      taken[free_slot] = true;
      s.slot[member->outputs[k]] = (int16_t)free_slot;
      if (free_slot >= s.count) s.count = free_slot + 1;
    }
    for (int i = 0; i < member->n_inputs; i++)
      if (member->inputs[i] >= n_ends && last[member->inputs[i]] == m) taken[s.slot[member->inputs[i]]] = false;
  }
  s.bytes = bytes_of_chunk(f, widest);
  return s;
}

// What one chunk of any member needs when it is converted: each operand and result is as long as the chunk at most.
static uint64_t wide_bytes(const dp_kernel_spec *spec, const dp_row_frame *f) {
  uint64_t most = 0;
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member, wide;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    if (!dp_member_kernel_of_rows(&member, false, &wide) || !wide.spec.op) continue;
    uint64_t widest = 1;
    for (int i = 0; i < wide.spec.n_inputs; i++)
      if (wide.inputs[i].present && dp_type_bytes(wide.inputs[i].dtype) > widest)
        widest = dp_type_bytes(wide.inputs[i].dtype);
    for (int k = 0; k < wide.spec.n_outputs; k++)
      if (wide.outputs[k].present && dp_type_bytes(wide.outputs[k].dtype) > widest)
        widest = dp_type_bytes(wide.outputs[k].dtype);
    const uint64_t bytes = (uint64_t)(wide.spec.n_inputs + wide.spec.n_outputs) * bytes_of_chunk(f, widest);
    if (bytes > most) most = bytes;
  }
  return most;
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  dp_row_frame f;
  if (!dp_row_frame_of(spec, &f)) return 0;
  const slots s = assign_slots(spec, &f);
  return ((uint64_t)s.count * s.bytes + wide_bytes(spec, &f)) * (uint64_t)spec->threads;
}

// ---- members on chunks ----------------------------------------------------------------------------------------------

// Chunks have one of two extents along `dim`: the step, or the remainder at the end.
typedef struct {
  dp_row_frame frame;
  dp_row_division division;
  slots slots;
  int64_t (*strides)[DP_MAX_RANK];  // (values) elements, by the frame's dims; 0 where a value is broadcast
  dp_member_spec *members[2];       // (members) of a whole chunk, of the last one
  dp_member_spec *wide[2];          // (members) the same in wider types; without op: computed in their own
  uint64_t wide_bytes;              // scratch of a part for what is converted, after the slots
  const dp_kernel **kernels;        // (members)
  void **states;                    // (members) tables that nobody frees
} rows_state;

// Dims after `dim` stay as they are: a mean is divided by the whole extent also where a device has only a part.
static dp_local box_of(const dp_local *local, const dp_row_frame *f, const dp_row_division *d, int64_t along) {
  dp_local box = *local;
  for (int i = 0; i < local->rank && i + f->rank - local->rank <= d->dim; i++) {
    const bool ranges = i + f->rank - local->rank == d->dim && local->extents[i] != 1;
    box.whole[i] = box.extents[i] = box.k[i] = box.hi[i] = ranges ? along : 1;
    box.outer[i] = box.unit[i] = box.shards[i] = 1;
    box.lo[i] = 0;
  }
  return box;
}

static void set_strides(const dp_local *local, int rank, int64_t strides[DP_MAX_RANK]) {
  int64_t stride = 1;
  for (int i = local->rank - 1; i >= 0; i--) {
    strides[i + rank - local->rank] = local->extents[i] == 1 ? 0 : stride;
    stride *= local->extents[i];
  }
}

static void release(void *state) {
  rows_state *s = state;
  if (!s) return;
  free(s->states);
  free(s->kernels);
  free(s->members[0]);
  free(s->wide[0]);
  free(s->strides);
  free(s);
}

// The kernels, and what becomes wide.
static dp_status prepare_members(rows_state *s, int n_members, bool fast) {
  for (int m = 0; m < n_members; m++) {
    dp_member_spec *wide = &s->wide[0][m];
    const dp_kernel *kernel = s->kernels[m] = dp_member_kernel_of_rows(&s->members[0][m], fast, wide);
    if (!kernel) return dp_fail(EX_SOFTWARE, "no kernel of rows for %s", s->members[0][m].spec.op->name);
    if (wide->spec.op) dp_widened_make(&s->members[1][m].spec, &s->wide[1][m]);
    const dp_kernel_spec *computed = wide->spec.op ? &wide->spec : &s->members[0][m].spec;
    if (kernel->prepare) DP_TRY(kernel->prepare(computed, &s->states[m]));
  }
  return DP_OK;
}

static dp_status prepare_rows(const dp_kernel_spec *spec, bool fast, void **state) {
  const dp_kernel_region *r = spec->region;
  const size_t n_members = (size_t)r->n_members, n_values = (size_t)r->n_values;
  dp_row_frame whole;
  if (!dp_row_frame_of(spec, &whole)) return dp_fail(EX_SOFTWARE, "a region that is not made of rows");
  rows_state *s = calloc(1, sizeof *s);
  dp_kernel_operand *boxes = calloc(n_values, sizeof *boxes);
  if (s) s->strides = calloc(n_values, sizeof *s->strides);
  if (s) s->members[0] = calloc(2 * n_members, sizeof *s->members[0]);
  if (s) s->wide[0] = calloc(2 * n_members, sizeof *s->wide[0]);
  if (s) s->kernels = calloc(n_members, sizeof *s->kernels);
  if (s) s->states = calloc(n_members, sizeof *s->states);
  if (!s || !boxes || !s->strides || !s->members[0] || !s->wide[0] || !s->kernels || !s->states) {
    release(s);
    free(boxes);
    return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
  }
  s->members[1] = s->members[0] + n_members;
  s->wide[1] = s->wide[0] + n_members;
  s->frame = whole;
  s->division = dp_row_frame_divide(&whole);
  const dp_row_frame *f = &s->frame;
  const dp_row_division *d = &s->division;
  s->slots = assign_slots(spec, f);
  s->wide_bytes = wide_bytes(spec, f);
  const int64_t last = d->dim < 0 ? 1 : f->extents[d->dim] - (d->along - 1) * d->step;
  for (size_t v = 0; v < n_values; v++) set_strides(&r->values[v].local, f->rank, s->strides[v]);
  for (int tail = 0; tail < 2; tail++) {
    for (size_t v = 0; v < n_values; v++) {
      boxes[v] = r->values[v];
      if (boxes[v].present) boxes[v].local = box_of(&r->values[v].local, f, d, tail ? last : d->step);
    }
    for (int m = 0; m < r->n_members; m++) dp_member_spec_make(spec->region, m, boxes, &s->members[tail][m]);
  }
  free(boxes);
  dp_status status = prepare_members(s, r->n_members, fast);
  if (status)
    release(s);
  else
    *state = s;
  return status;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return prepare_rows(spec, false, state); }
static dp_status prepare_fast(const dp_kernel_spec *spec, void **state) { return prepare_rows(spec, true, state); }

// Where the chunk starts in a value.
static int64_t offset_of(const rows_state *s, int value, int64_t chunk) {
  const dp_row_division *d = &s->division;
  const int64_t *strides = s->strides[value];
  int64_t offset = 0, outer = chunk / d->along;
  if (d->dim >= 0) offset = chunk % d->along * d->step * strides[d->dim];
  for (int i = d->dim - 1; i >= 0; i--) {
    offset += outer % s->frame.extents[i] * strides[i];
    outer /= s->frame.extents[i];
  }
  return offset;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const rows_state *s = state;
  const dp_kernel_region *r = spec->region;
  const int n_ends = spec->n_inputs + spec->n_outputs;
  void *values[MAX_VALUES];
  const uint64_t slots_bytes = (uint64_t)s->slots.count * s->slots.bytes;
  char *inside = (char *)scratch + (uint64_t)part * (slots_bytes + s->wide_bytes);
  for (int v = n_ends; v < r->n_values; v++) values[v] = inside + (uint64_t)s->slots.slot[v] * s->slots.bytes;
  const int64_t begin = s->division.count * part / parts, end = s->division.count * (part + 1) / parts;
  for (int64_t chunk = begin; chunk < end; chunk++) {
    for (int v = 0; v < n_ends; v++) {
      char *first = v < spec->n_inputs ? (char *)(uintptr_t)in[v] : out[v - spec->n_inputs];
      values[v] = first + offset_of(s, v, chunk) * (int64_t)dp_type_bytes(r->values[v].dtype);
    }
    const bool tail = chunk % s->division.along == s->division.along - 1;
    for (int m = 0; m < r->n_members; m++) {
      const void *from[DP_MAX_OPERANDS];
      void *to[DP_MAX_OPERANDS];
      dp_member_operands(&r->members[m], values, from, to);
      const dp_kernel_spec *member = &s->members[tail][m].spec;
      if (s->wide[tail][m].spec.op)
        DP_TRY(dp_widened_run(member, &s->wide[tail][m], s->kernels[m], s->states[m], from, to, inside + slots_bytes));
      else
        DP_TRY(s->kernels[m]->run(member, s->states[m], from, to, NULL, 0, 1));
    }
  }
  return DP_OK;
}

const dp_kernel dp_kernel_rows_Region = {
    .name = "cpu.rows.dp.Region",
    .op = "Region",
    .domain = "dp",
    .types = DP_STORED,
    .priority = 1,
    .parts = true,
    .in_place = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = release,
    .run = run,
};

const dp_kernel dp_kernel_fast_rows_Region = {
    .name = "cpu.fast_rows.dp.Region",
    .op = "Region",
    .domain = "dp",
    .types = DP_STORED,
    .priority = 5,
    .library = true,
    .parts = true,
    .isa = true,
    .in_place = true,
    .match = match_fast,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare_fast,
    .release = release,
    .run = run,
};
