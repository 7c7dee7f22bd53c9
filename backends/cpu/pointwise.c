// dp.Region of pointwise members. Results are computed in chunks that stay in the cache: all members of a chunk before
// the next chunk, so memory is read and written once. The members' reference kernels compute each chunk, so the bits
// are theirs.
//
// A chunk is a box of the results' extents that is contiguous in them: a range of one dim and everything in the dims
// after it. An operand that is broadcast has the same box with extent 1 where it is broadcast, which is contiguous too.
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/alignment.h"
#include "backends/cpu/member.h"
#include "ir/base/base.h"

enum { CHUNK = 1024, MAX_VALUES = 256 };  // elements of a chunk; values of a region

// How extents are divided.
typedef struct {
  int rank, dim;        // dims before `dim` are iterated one by one, those after it are whole
  int64_t step, along;  // of `dim`: extent of a chunk, chunks
  int64_t count;        // chunks
  int64_t elements;     // most of a chunk
} division;

static division divide(const dp_local *local) {
  division d = {.rank = local->rank, .dim = local->rank, .elements = 1, .count = 1};
  while (d.dim > 0 && d.elements * local->extents[d.dim - 1] <= CHUNK) d.elements *= local->extents[--d.dim];
  d.dim--;
  d.step = d.along = 1;
  if (d.dim >= 0) {
    d.step = d.elements ? CHUNK / d.elements : 1;
    d.along = (local->extents[d.dim] + d.step - 1) / d.step;
    d.elements *= d.step;
  }
  d.count = d.along;
  for (int i = 0; i < d.dim; i++) d.count *= local->extents[i];
  if (!dp_local_count(local)) d.count = 0;
  return d;
}

// ---- what it takes --------------------------------------------------------------------------------------------------

static bool fits(const dp_local *operand, const dp_local *result) {
  const int missing = result->rank - operand->rank;
  for (int i = 0; i < operand->rank; i++)
    if (missing < 0 || (operand->extents[i] != 1 && operand->extents[i] != result->extents[i + missing])) return false;
  return true;
}

static bool is_pointwise(const dp_op *op) {
  const uint32_t others = DP_OP_RANDOM | DP_OP_UPDATE | DP_OP_COMMUNICATION | DP_OP_POSITIONAL;
  return dp_op_is(op, DP_OP_ELEMENTWISE) && !(op->flags & others);
}

static bool match(const dp_kernel_spec *spec) {
  if (!spec->region || !spec->n_outputs || spec->region->n_values > MAX_VALUES) return false;
  const dp_local *result = &spec->outputs[0].local;
  for (int v = 0; v < spec->region->n_values; v++) {
    const dp_kernel_operand *value = &spec->region->values[v];
    if (value->present && !fits(&value->local, result)) return false;
    if (v >= spec->n_inputs && (!value->present || dp_local_count(&value->local) != dp_local_count(result)))
      return false;
  }
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(spec, m, spec->region->values, &member);
    const dp_kernel *kernel = dp_member_kernel(&member);
    if (!is_pointwise(member.spec.op) || !kernel || !kernel->parts || kernel->prepare || kernel->scratch_bytes)
      return false;
  }
  return spec->region->n_members > 0;
}

// ---- scratch --------------------------------------------------------------------------------------------------------

// Values inside the region have slots of one chunk each, of the widest type. A slot is reused after the last member
// that reads its value.
typedef struct {
  int count;
  uint64_t bytes;            // of each
  int16_t slot[MAX_VALUES];  // (values) of what stays inside
} slots;

static slots assign_slots(const dp_kernel_spec *spec) {
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
  const int64_t count = dp_min_i64(dp_local_count(&spec->outputs[0].local), CHUNK);
  s.bytes = dp_align_up((uint64_t)count * widest, DP_CPU_ALIGNMENT);
  return s;
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const slots s = assign_slots(spec);
  return (uint64_t)s.count * s.bytes * (uint64_t)spec->threads;
}

// ---- members on chunks ----------------------------------------------------------------------------------------------

// Chunks have one of two extents along `dim`: the step, or the remainder at the end.
typedef struct {
  division division;
  slots slots;
  int64_t (*strides)[DP_MAX_RANK];  // (values) elements, by the results' dims; 0 where a value is broadcast
  dp_member_spec *members[2];       // (members) of a whole chunk, of the last one
  const dp_kernel **kernels;        // (members)
} pointwise_state;

static dp_local box_of(const dp_local *local, const division *d, int64_t along) {
  dp_local box = {.rank = local->rank};
  for (int i = 0; i < local->rank; i++) {
    const int dim = i + d->rank - local->rank;
    int64_t extent = dim < d->dim ? 1 : dim == d->dim ? along : local->extents[i];
    if (local->extents[i] == 1) extent = 1;
    box.whole[i] = box.extents[i] = box.k[i] = box.hi[i] = extent;
    box.outer[i] = box.unit[i] = box.shards[i] = 1;
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
  pointwise_state *s = state;
  if (!s) return;
  free(s->kernels);
  free(s->members[0]);
  free(s->strides);
  free(s);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_kernel_region *r = spec->region;
  const size_t n_members = (size_t)r->n_members, n_values = (size_t)r->n_values;
  pointwise_state *s = calloc(1, sizeof *s);
  dp_kernel_operand *boxes = calloc(n_values, sizeof *boxes);
  if (s) s->strides = calloc(n_values, sizeof *s->strides);
  if (s) s->members[0] = calloc(2 * n_members, sizeof *s->members[0]);
  if (s) s->kernels = calloc(n_members, sizeof *s->kernels);
  if (!s || !boxes || !s->strides || !s->members[0] || !s->kernels) {
    release(s);
    free(boxes);
    return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
  }
  s->members[1] = s->members[0] + n_members;
  const dp_local *result = &spec->outputs[0].local;
  const division *d = &s->division;
  s->division = divide(result);
  s->slots = assign_slots(spec);
  const int64_t last = d->dim < 0 ? 1 : result->extents[d->dim] - (d->along - 1) * d->step;
  for (size_t v = 0; v < n_values; v++) set_strides(&r->values[v].local, d->rank, s->strides[v]);
  for (int tail = 0; tail < 2; tail++) {
    for (size_t v = 0; v < n_values; v++) {
      boxes[v] = r->values[v];
      if (boxes[v].present) boxes[v].local = box_of(&r->values[v].local, d, tail ? last : d->step);
    }
    for (int m = 0; m < r->n_members; m++) dp_member_spec_make(spec, m, boxes, &s->members[tail][m]);
  }
  for (int m = 0; m < r->n_members; m++) s->kernels[m] = dp_member_kernel(&s->members[0][m]);
  free(boxes);
  *state = s;
  return DP_OK;
}

// Where the chunk starts in a value.
static int64_t offset_of(const pointwise_state *s, const dp_local *result, int value, int64_t chunk) {
  const division *d = &s->division;
  const int64_t *strides = s->strides[value];
  int64_t offset = 0, outer = chunk / d->along;
  if (d->dim >= 0) offset = chunk % d->along * d->step * strides[d->dim];
  for (int i = d->dim - 1; i >= 0; i--) {
    offset += outer % result->extents[i] * strides[i];
    outer /= result->extents[i];
  }
  return offset;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const pointwise_state *s = state;
  const dp_kernel_region *r = spec->region;
  const dp_local *result = &spec->outputs[0].local;
  const int n_ends = spec->n_inputs + spec->n_outputs;
  void *values[MAX_VALUES];
  char *inside = (char *)scratch + (uint64_t)part * (uint64_t)s->slots.count * s->slots.bytes;
  for (int v = n_ends; v < r->n_values; v++) values[v] = inside + (uint64_t)s->slots.slot[v] * s->slots.bytes;
  const int64_t begin = s->division.count * part / parts, end = s->division.count * (part + 1) / parts;
  for (int64_t chunk = begin; chunk < end; chunk++) {
    for (int v = 0; v < n_ends; v++) {
      char *first = v < spec->n_inputs ? (char *)(uintptr_t)in[v] : out[v - spec->n_inputs];
      values[v] = first + offset_of(s, result, v, chunk) * (int64_t)dp_type_bytes(r->values[v].dtype);
    }
    const bool tail = chunk % s->division.along == s->division.along - 1;
    for (int m = 0; m < r->n_members; m++) {
      const void *from[DP_MAX_OPERANDS];
      void *to[DP_MAX_OPERANDS];
      dp_member_operands(&r->members[m], values, from, to);
      DP_TRY(s->kernels[m]->run(&s->members[tail][m].spec, NULL, from, to, NULL, 0, 1));
    }
  }
  return DP_OK;
}

const dp_kernel dp_kernel_pointwise_Region = {
    .name = "cpu.pointwise.dp.Region",
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
