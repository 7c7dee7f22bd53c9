// dp.Region of members that work on channels (DP_OP_CHANNELS): batch normalizations and their gradients, and pointwise
// members around them. Results are computed some channels at a time, all samples of these: all members before the next
// channels, so memory is read and written once though statistics come before what is normalized by them.
//
// There are two such kernels, as of rows (rows.c). A channel's elements lie apart, a piece in each sample. So a chunk
// of an operand is copied to scratch before the first member that takes it, and one of a result from there once it is
// made. Pieces of a single sample, and statistics, stay where they are.
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/channels.h"
#include "backends/cpu/member_chunks.h"
#include "ir/base/base.h"

enum { CHUNK = 1 << 16 };  // elements of a chunk of more than one channel

// ---- the frame ------------------------------------------------------------------------------------------------------

typedef struct {
  int rank;  // of what is normalized
  int64_t channels;
  int8_t dim[DP_CHUNK_VALUES];   // (values) that of its channels; -1: it is the same for all
  bool staged[DP_CHUNK_VALUES];  // (operands and results) its chunks are copied
  int64_t of_channel, all;       // the most elements of a value: in one channel, in all
} frame;

// What has the rank of `x` has its channels in dim 1. Broadcasting aligns what a pointwise member takes; statistics
// have them in their last dim.
static bool set_dim(frame *f, const dp_kernel_region *r, int32_t value, bool pointwise, bool *known) {
  if (value < 0) return true;
  const dp_local *local = &r->values[value].local;
  const int dim = local->rank == f->rank ? 1 : pointwise ? 1 + local->rank - f->rank : local->rank - 1;
  if (local->rank > f->rank) return false;
  // Where there are no two channels, all is one chunk.
  const bool has = dim >= 0 && f->channels > 1 && local->extents[dim] != 1;
  if (has && local->extents[dim] != f->channels) return false;
  if (known[value] && f->dim[value] != (has ? dim : -1)) return false;
  f->dim[value] = (int8_t)(has ? dim : -1);
  known[value] = true;
  return true;
}

static bool set_dims(const dp_kernel_region *r, frame *f) {
  bool known[DP_CHUNK_VALUES] = {false};
  for (int m = 0; m < r->n_members; m++) {
    const dp_kernel_member *member = &r->members[m];
    const bool pointwise = dp_op_is_pointwise(member->op);
    if (!pointwise && !dp_op_is(member->op, DP_OP_CHANNELS)) return false;
    for (int i = 0; i < member->n_inputs; i++)
      if (!set_dim(f, r, member->inputs[i], pointwise, known)) return false;
    for (int k = 0; k < member->n_outputs; k++)
      if (!set_dim(f, r, member->outputs[k], pointwise, known)) return false;
  }
  return true;
}

// The first operand of the first member that normalizes; NULL: none does.
static const dp_local *normalized(const dp_kernel_region *r) {
  for (int m = 0; m < r->n_members; m++)
    if (dp_op_is(r->members[m].op, DP_OP_CHANNELS)) return &r->values[r->members[m].inputs[0]].local;
  return NULL;
}

static bool frame_of(const dp_kernel_spec *spec, frame *f) {
  const dp_kernel_region *r = spec->region;
  const dp_local *x = r->n_values <= DP_CHUNK_VALUES ? normalized(r) : NULL;
  if (!x || x->rank < 2) return false;
  *f = (frame){.rank = x->rank, .channels = x->extents[1], .of_channel = 1, .all = 1};
  if (!set_dims(r, f)) return false;
  for (int v = 0; v < r->n_values; v++) {
    const dp_local *local = &r->values[v].local;
    const int64_t count = dp_local_count(local),
                  of_channel = f->dim[v] < 0 ? count : count / dp_max_i64(1, f->channels);
    // One part alone may write a result.
    if (f->dim[v] < 0 && v >= spec->n_inputs && f->channels > 1) return false;
    int64_t outer = 1;
    for (int i = 0; i < f->dim[v]; i++) outer *= local->extents[i];
    f->staged[v] = outer > 1 && v < spec->n_inputs + spec->n_outputs;
    f->of_channel = dp_max_i64(f->of_channel, of_channel);
    f->all = dp_max_i64(f->all, count);
  }
  return true;
}

static bool match(const dp_kernel_spec *spec) {
  frame f;
  return spec->region && spec->n_outputs && dp_member_chunks_match(spec) && frame_of(spec, &f);
}

static bool match_fast(const dp_kernel_spec *spec) { return match(spec) && dp_members_have_fast_kernels(spec); }

// Of the longest chunk that a frame of these extents or smaller ones is divided into.
static dp_member_chunk_sizes sizes_of(const frame *f) {
  return (dp_member_chunk_sizes){dp_min_i64(f->all, dp_max_i64(CHUNK, f->of_channel)), f->staged};
}

static uint64_t bytes_of_part(const dp_kernel_spec *spec, const frame *f) {
  const dp_member_chunk_sizes sizes = sizes_of(f);
  return dp_member_chunks_scratch_bytes(spec, &sizes);
}

// No more parts have work than there are channels.
static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  frame f;
  return frame_of(spec, &f) ? bytes_of_part(spec, &f) * (uint64_t)dp_min_i64(spec->threads, dp_max_i64(1, f.channels))
                            : 0;
}

// ---- chunks ---------------------------------------------------------------------------------------------------------

// Of a value: in each of `outer` places a piece of `step` bytes a channel. A value that is the same for all channels is
// one piece with a step of 0.
typedef struct {
  int64_t outer, step;
} pieces;

typedef struct {
  frame frame;
  int64_t step, count;  // channels of a chunk; chunks
  pieces *pieces;       // (values)
  uint64_t bytes;       // scratch of a part
  dp_member_chunks *chunks;
} channels_state;

static dp_local box_of(const void *context, const dp_local *local, int v, bool last) {
  const channels_state *s = context;
  const int dim = s->frame.dim[v];
  dp_local box = *local;
  if (dim < 0) return box;
  box.whole[dim] = box.extents[dim] = box.k[dim] = box.hi[dim] =
      last ? s->frame.channels - (s->count - 1) * s->step : s->step;
  box.outer[dim] = box.unit[dim] = box.shards[dim] = 1;
  box.lo[dim] = 0;
  return box;
}

static pieces pieces_of(const dp_kernel_operand *value, int dim) {
  pieces p = {1, (int64_t)dp_type_bytes(value->dtype)};
  if (dim < 0) p.step = 0;
  for (int i = 0; i < dim; i++) p.outer *= value->local.extents[i];
  for (int i = dim + 1; i < value->local.rank; i++) p.step *= value->local.extents[i];
  return p;
}

static void release(void *state) {
  channels_state *s = state;
  if (!s) return;
  dp_member_chunks_release(s->chunks);
  free(s->pieces);
  free(s);
}

static dp_status prepare_channels(const dp_kernel_spec *spec, bool fast, void **state) {
  const dp_kernel_region *r = spec->region;
  channels_state *s = calloc(1, sizeof *s);
  if (s) s->pieces = calloc((size_t)r->n_values, sizeof *s->pieces);
  if (!s || !s->pieces) {
    release(s);
    return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
  }
  frame *f = &s->frame;
  dp_status status = frame_of(spec, f) ? DP_OK : dp_fail(EX_SOFTWARE, "a region that is not made of channels");
  if (!status) {
    const int64_t even = (f->channels + spec->threads - 1) / spec->threads;
    s->step = dp_max_i64(1, dp_min_i64(even, CHUNK / f->of_channel));
    s->count = (f->channels + s->step - 1) / s->step;
    s->bytes = bytes_of_part(spec, f);
    for (int v = 0; v < r->n_values; v++) s->pieces[v] = pieces_of(&r->values[v], f->dim[v]);
    const dp_member_chunk_sizes sizes = sizes_of(f);
    status = dp_member_chunks_prepare(spec, &sizes, fast, box_of, s, &s->chunks);
  }
  if (status)
    release(s);
  else
    *state = s;
  return status;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return prepare_channels(spec, false, state); }
static dp_status prepare_fast(const dp_kernel_spec *spec, void **state) { return prepare_channels(spec, true, state); }

// Copies channels [first, first + count) of a value from its memory to a chunk, or back.
static void copy_pieces(const channels_state *s, int v, int64_t first, int64_t count, char *memory, char *chunk,
                        bool back) {
  const pieces p = s->pieces[v];
  const size_t bytes = (size_t)(count * p.step);
  for (int64_t o = 0; o < p.outer; o++) {
    char *apart = memory + (o * s->frame.channels + first) * p.step, *together = chunk + o * count * p.step;
    memcpy(back ? apart : together, back ? together : apart, bytes);
  }
}

// What a part of the kernel works on.
typedef struct {
  const channels_state *state;
  const dp_kernel_region *region;
  int n_ends;
  void *memory[DP_CHUNK_VALUES];  // (operands and results)
  void *values[DP_CHUNK_VALUES];  // addresses of the chunk
  bool there[DP_CHUNK_VALUES];    // (operands and results) the slot has its chunk
  char *scratch;
} work;

static dp_status compute_member(work *w, int m, int64_t first, int64_t count, bool last) {
  const channels_state *s = w->state;
  const dp_kernel_member *member = &w->region->members[m];
  for (int i = 0; i < member->n_inputs; i++) {
    const int32_t v = member->inputs[i];
    if (v < 0 || v >= w->n_ends || !s->frame.staged[v] || w->there[v]) continue;
    copy_pieces(s, v, first, count, w->memory[v], w->values[v], false);
    w->there[v] = true;
  }
  DP_TRY(dp_member_chunks_run(s->chunks, w->region, m, last, w->values, w->scratch));
  for (int k = 0; k < member->n_outputs; k++) {
    const int32_t v = member->outputs[k];
    if (v < 0 || v >= w->n_ends || !s->frame.staged[v]) continue;
    copy_pieces(s, v, first, count, w->memory[v], w->values[v], true);
    w->there[v] = true;
  }
  return DP_OK;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const channels_state *s = state;
  const int64_t begin = s->count * part / parts, end = s->count * (part + 1) / parts;
  // Where there are fewer chunks than parts, each belongs to a part of its own.
  work w = {.state = s,
            .region = spec->region,
            .n_ends = spec->n_inputs + spec->n_outputs,
            .scratch = (char *)scratch + (uint64_t)(s->count < parts ? begin : part) * s->bytes};
  for (int v = 0; v < w.n_ends; v++)
    w.memory[v] = v < spec->n_inputs ? (void *)(uintptr_t)in[v] : out[v - spec->n_inputs];
  dp_member_chunks_place(s->chunks, w.region, w.scratch, w.values);
  for (int64_t chunk = begin; chunk < end; chunk++) {
    const bool last = chunk == s->count - 1;
    const int64_t first = chunk * s->step, count = last ? s->frame.channels - first : s->step;
    for (int v = 0; v < w.n_ends; v++) {
      w.there[v] = false;
      if (!s->frame.staged[v]) w.values[v] = (char *)w.memory[v] + first * s->pieces[v].step;
    }
    for (int m = 0; m < w.region->n_members; m++) DP_TRY(compute_member(&w, m, first, count, last));
  }
  return DP_OK;
}

const dp_kernel dp_kernel_channels_Region = {
    .name = "cpu.channels.dp.Region",
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

const dp_kernel dp_kernel_fast_channels_Region = {
    .name = "cpu.fast_channels.dp.Region",
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
