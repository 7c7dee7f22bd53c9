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
#include <stdlib.h>

#include "backends/cpu/member_chunks.h"
#include "backends/cpu/row_frame.h"
#include "backends/cpu/rows.h"
#include "ir/base/base.h"

static bool match(const dp_kernel_spec *spec) {
  dp_row_frame f;
  return spec->region && spec->n_outputs && dp_member_chunks_match(spec) && dp_row_frame_of(spec, &f);
}

static bool match_fast(const dp_kernel_spec *spec) { return match(spec) && dp_members_have_fast_kernels(spec); }

// Of the longest chunk that a frame of these extents or smaller ones is divided into.
static dp_member_chunk_sizes sizes_of(const dp_row_frame *f) {
  return (dp_member_chunk_sizes){
      dp_min_i64(dp_row_frame_elements(f, 0), dp_max_i64(DP_ROW_CHUNK, dp_row_frame_elements(f, f->row))), NULL};
}

static uint64_t bytes_of_part(const dp_kernel_spec *spec, const dp_row_frame *f) {
  const dp_member_chunk_sizes sizes = sizes_of(f);
  return dp_member_chunks_scratch_bytes(spec, &sizes);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  dp_row_frame f;
  return dp_row_frame_of(spec, &f) ? bytes_of_part(spec, &f) * (uint64_t)spec->threads : 0;
}

// ---- chunks ---------------------------------------------------------------------------------------------------------

// Chunks have one of two extents along `dim`: the step, or the remainder at the end.
typedef struct {
  dp_row_frame frame;
  dp_row_division division;
  int64_t (*strides)[DP_MAX_RANK];  // (values) elements, by the frame's dims; 0 where a value is broadcast
  uint64_t bytes;                   // scratch of a part
  dp_member_chunks *chunks;
} rows_state;

// Dims after `dim` stay as they are: a mean is divided by the whole extent also where a device has only a part.
static dp_local box_of(const void *context, const dp_local *local, int v, bool last) {
  (void)v;
  const rows_state *s = context;
  const dp_row_frame *f = &s->frame;
  const dp_row_division *d = &s->division;
  const int64_t rest = d->dim < 0 ? 1 : f->extents[d->dim] - (d->along - 1) * d->step;
  dp_local box = *local;
  for (int i = 0; i < local->rank && i + f->rank - local->rank <= d->dim; i++) {
    const bool ranges = i + f->rank - local->rank == d->dim && local->extents[i] != 1;
    box.whole[i] = box.extents[i] = box.k[i] = box.hi[i] = !ranges ? 1 : last ? rest : d->step;
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
  dp_member_chunks_release(s->chunks);
  free(s->strides);
  free(s);
}

static dp_status prepare_rows(const dp_kernel_spec *spec, bool fast, void **state) {
  const dp_kernel_region *r = spec->region;
  dp_row_frame whole;
  if (!dp_row_frame_of(spec, &whole)) return dp_fail(EX_SOFTWARE, "a region that is not made of rows");
  rows_state *s = calloc(1, sizeof *s);
  if (s) s->strides = calloc((size_t)r->n_values, sizeof *s->strides);
  if (!s || !s->strides) {
    release(s);
    return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
  }
  s->frame = whole;
  s->division = dp_row_frame_divide(&whole);
  s->bytes = bytes_of_part(spec, &whole);
  for (int v = 0; v < r->n_values; v++) set_strides(&r->values[v].local, whole.rank, s->strides[v]);
  const dp_member_chunk_sizes sizes = sizes_of(&whole);
  dp_status status = dp_member_chunks_prepare(spec, &sizes, fast, box_of, s, &s->chunks);
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
  void *values[DP_CHUNK_VALUES];
  char *own = (char *)scratch + (uint64_t)part * s->bytes;
  dp_member_chunks_place(s->chunks, r, own, values);
  const int64_t begin = s->division.count * part / parts, end = s->division.count * (part + 1) / parts;
  for (int64_t chunk = begin; chunk < end; chunk++) {
    for (int v = 0; v < n_ends; v++) {
      char *first = v < spec->n_inputs ? (char *)(uintptr_t)in[v] : out[v - spec->n_inputs];
      values[v] = first + offset_of(s, v, chunk) * (int64_t)dp_type_bytes(r->values[v].dtype);
    }
    const bool last = chunk % s->division.along == s->division.along - 1;
    for (int m = 0; m < r->n_members; m++) DP_TRY(dp_member_chunks_run(s->chunks, r, m, last, values, own));
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
    .shares_state = true,
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
    .shares_state = true,
    .release = release,
    .run = run,
};
