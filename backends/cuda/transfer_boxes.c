// Transfers that are lists of copies become rounds: copy k of every part of the transfer is in round k, since they
// write apart from each other and copies of one follow each other. Where these write apart too, all are in one round.
// What is written is written by the GPU that holds it. A round is a launch or two over all boxes of that GPU, but what
// is contiguous and comes from the host or from a GPU out of reach is left to the copy engines. Other boxes out of
// reach come through the GPU's staging memory: the bytes from the box's first element to its last, as many boxes at a
// time as there is room for, each cut until it fits.
//
// What is all within reach is read and written once: where copies sum up the same region of several sources, one launch
// reads them and writes the sum; where all parts copy the same on one GPU, one launch reads that and writes it to all
// targets.
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/gpu/staging.h"
#include "backends/cuda/transfer_part.h"

typedef struct {
  const dp_transfer *from;
  dp_cuda_part *parts;
  int n_parts;
  size_t element_bytes;
  // Of the copy at hand.
  dp_cuda_part *part;
  const dp_cuda_gpu *source_gpu;  // NULL: within reach
  // Of the round and part at hand.
  int n_near, n_far, room_near, room_far;
  dp_cuda_box *near, *far;
  const dp_cuda_gpu **far_gpus;  // (n_far)
  dp_region_action action;
  // Of what is read and written once: sources and targets of a box, and how far they are apart; boxes of one row follow
  // from `first_near` on. Else there is one of each, in row 0.
  int sources, targets, first_near;
  int64_t rows, *apart, *spread;  // (rows, sources), (rows, targets)
} boxing;

static dp_status no_memory(void) { return dp_fail(DP_EX_MEMORY, "no memory for the tables of a collective"); }

// ---- boxes ----------------------------------------------------------------------------------------------------------

static bool is_run(const dp_cuda_box *box) {
  return !box->rank || (box->rank == 1 && box->target_strides[0] == 1 && box->source_strides[0] == 1);
}

static void drop_dim(dp_cuda_box *box, int dim) {
  box->rank--;
  for (int d = dim; d < box->rank; d++) {
    box->extents[d] = box->extents[d + 1];
    box->target_strides[d] = box->target_strides[d + 1];
    box->source_strides[d] = box->source_strides[d + 1];
  }
}

// Drops dims of one element, and joins two dims where both sides step through them as through one.
static void join_dims(dp_cuda_box *box) {
  for (int d = box->rank - 1; d >= 0; d--)
    if (box->extents[d] == 1) drop_dim(box, d);
  for (int d = box->rank - 1; d > 0; d--)
    if (box->target_strides[d - 1] == box->extents[d] * box->target_strides[d] &&
        box->source_strides[d - 1] == box->extents[d] * box->source_strides[d]) {
      box->extents[d] *= box->extents[d - 1];
      drop_dim(box, d - 1);
    }
}

// Makes one run of two if the second begins where the first ends, on both sides. Whether it has.
static bool join_runs(const boxing *b, dp_cuda_box *first, const dp_cuda_box *second) {
  if (!is_run(first) || !is_run(second)) return false;
  const size_t bytes = (size_t)dp_cuda_box_elements(first) * b->element_bytes;
  if (first->target + bytes != second->target || first->source + bytes != second->source) return false;
  first->extents[0] = dp_cuda_box_elements(first) + dp_cuda_box_elements(second);
  first->target_strides[0] = first->source_strides[0] = 1;
  first->rank = 1;
  return true;
}

static dp_status add_box(boxing *b, const dp_cuda_box *box) {
  if (!dp_cuda_box_elements(box)) return DP_OK;
  const bool far = b->source_gpu != NULL;
  int *n = far ? &b->n_far : &b->n_near, *room = far ? &b->room_far : &b->room_near;
  dp_cuda_box **boxes = far ? &b->far : &b->near;
  if (*n > (far ? 0 : b->first_near) && (!far || b->far_gpus[*n - 1] == b->source_gpu) &&
      join_runs(b, &(*boxes)[*n - 1], box))
    return DP_OK;
  if (*n == *room) {
    const size_t more = 2 * (size_t)*room + 16;
    dp_cuda_box *grown = realloc(*boxes, more * sizeof *grown);
    if (!grown) return no_memory();
    *boxes = grown;
    if (far) {
      const dp_cuda_gpu **gpus = realloc(b->far_gpus, more * sizeof *gpus);
      if (!gpus) return no_memory();
      b->far_gpus = gpus;
    }
    *room = (int)more;
  }
  if (far) b->far_gpus[*n] = b->source_gpu;
  (*boxes)[(*n)++] = *box;
  return DP_OK;
}

// A box for each choice of a segment along every dim, from dim d on.
static dp_status add_region(boxing *b, const dp_region *r, int d, dp_cuda_box box) {
  if (d == r->rank) {
    join_dims(&box);
    return add_box(b, &box);
  }
  for (int i = 0; i < r->n_segments[d]; i++) {
    const dp_segment *s = &r->segments[d][i];
    dp_cuda_box part = box;
    part.target += (size_t)(s->target * r->target_stride[d]) * b->element_bytes;
    part.source += (size_t)(s->source * r->source_stride[d]) * b->element_bytes;
    part.extents[d] = s->length;
    part.target_strides[d] = r->target_stride[d];
    part.source_strides[d] = r->source_stride[d];
    part.rank = d + 1;
    DP_TRY(add_region(b, r, d + 1, part));
  }
  return DP_OK;
}

static bool is_empty(const dp_region *r) {
  for (int d = 0; d < r->rank; d++)
    if (!r->n_segments[d]) return true;
  return false;
}

// Finds who does a copy: the GPU that holds the target; where that is the host, the source's.
static dp_status place(boxing *b, const dp_copy *copy) {
  const dp_cuda_gpu *target, *source;
  DP_TRY(dp_cuda_part_holding(b->n_parts, copy->target, &target));
  DP_TRY(dp_cuda_part_holding(b->n_parts, copy->source, &source));
  b->part = b->parts;
  for (int p = 0; p < b->n_parts; p++)
    if (b->parts[p].gpu && b->parts[p].gpu == (target ? target : source)) b->part = &b->parts[p];
  b->source_gpu = dp_cuda_part_reaches(b->part, source) ? NULL : source;
  return DP_OK;
}

// ---- within reach ---------------------------------------------------------------------------------------------------

static dp_status add_launch(const boxing *b, dp_cuda_part *part, const dp_cuda_box *boxes, int count) {
  static const int64_t none = 0;
  const bool once = b->apart != NULL;
  return dp_cuda_transfer_move(&(dp_cuda_moves){.from = b->from,
                                                .action = b->action,
                                                .adds = !once && b->action != DP_REGION_COPY,
                                                .sources = once ? b->sources : 1,
                                                .targets = once ? b->targets : 1,
                                                .rows = once ? b->rows : 1,
                                                .apart = once ? b->apart : &none,
                                                .spread = once ? b->spread : &none,
                                                .count = count,
                                                .boxes = boxes},
                               part);
}

static dp_status add_run(boxing *b, dp_cuda_part *part, const dp_cuda_box *box, const dp_cuda_gpu *source) {
  const dp_cuda_step step = {.kind = source ? DP_CUDA_STEP_FETCH : DP_CUDA_STEP_UPLOAD,
                             .to = box->target,
                             .from = box->source,
                             .to_gpu = part->gpu,
                             .from_gpu = source,
                             .bytes = (uint64_t)dp_cuda_box_elements(box) * b->element_bytes};
  return dp_cuda_part_add(part, &step);
}

static dp_status add_near(boxing *b, dp_cuda_part *part, bool upload) {
  for (int i = 0; i < b->n_near; i++) upload &= is_run(&b->near[i]);
  if (!upload) return add_launch(b, part, b->near, b->n_near);
  for (int i = 0; i < b->n_near; i++) DP_TRY(add_run(b, part, &b->near[i], NULL));
  return DP_OK;
}

// ---- out of reach ---------------------------------------------------------------------------------------------------

// Bytes from the first element of the source to the end of the last.
static uint64_t span_of(const boxing *b, const dp_cuda_box *box) {
  int64_t last = 0;
  for (int d = 0; d < box->rank; d++) last += (box->extents[d] - 1) * box->source_strides[d];
  return (uint64_t)(last + 1) * b->element_bytes;
}

// Boxes whose bytes lie in staging memory, for one launch.
typedef struct {
  dp_cuda_box *boxes;
  int count, room;
  uint64_t used;  // bytes
} batch;

static dp_status flush(boxing *b, dp_cuda_part *part, batch *staged) {
  DP_TRY(add_launch(b, part, staged->boxes, staged->count));
  staged->count = 0;
  staged->used = 0;
  return DP_OK;
}

// Cuts the box in two along the dim of the source's largest step.
static void halve(const boxing *b, const dp_cuda_box *box, dp_cuda_box *first, dp_cuda_box *second) {
  int widest = 0;
  for (int d = 1; d < box->rank; d++)
    if (box->extents[widest] == 1 || (box->extents[d] > 1 && box->source_strides[d] > box->source_strides[widest]))
      widest = d;
  const int64_t half = box->extents[widest] / 2;
  *first = *second = *box;
  first->extents[widest] = half;
  second->extents[widest] -= half;
  second->target += (size_t)(half * box->target_strides[widest]) * b->element_bytes;
  second->source += (size_t)(half * box->source_strides[widest]) * b->element_bytes;
}

static dp_status stage(boxing *b, dp_cuda_part *part, batch *staged, const dp_cuda_box *box,
                       const dp_cuda_gpu *source) {
  enum { UNIT = 256 };  // bytes
  const uint64_t bytes = span_of(b, box);
  if (bytes > DP_CUDA_STAGING_BYTES) {
    dp_cuda_box first, second;
    halve(b, box, &first, &second);
    DP_TRY(stage(b, part, staged, &first, source));
    return stage(b, part, staged, &second, source);
  }
  if (bytes > DP_CUDA_STAGING_BYTES - staged->used) DP_TRY(flush(b, part, staged));
  if (staged->count == staged->room) {
    const int room = 2 * staged->room + 16;
    dp_cuda_box *boxes = realloc(staged->boxes, (size_t)room * sizeof *boxes);
    if (!boxes) return no_memory();
    staged->boxes = boxes;
    staged->room = room;
  }
  const dp_cuda_step step = {.kind = DP_CUDA_STEP_FETCH,
                             .to = part->staging + staged->used,
                             .from = box->source,
                             .to_gpu = part->gpu,
                             .from_gpu = source,
                             .bytes = bytes};
  DP_TRY(dp_cuda_part_add(part, &step));
  staged->boxes[staged->count] = *box;
  staged->boxes[staged->count++].source = step.to;
  staged->used = (staged->used + bytes + UNIT - 1) / UNIT * UNIT;
  if (staged->used > DP_CUDA_STAGING_BYTES) staged->used = DP_CUDA_STAGING_BYTES;
  return DP_OK;
}

static dp_status add_far(boxing *b, dp_cuda_part *part, bool copies) {
  batch staged = {0};
  dp_status status = DP_OK;
  for (int i = 0; i < b->n_far && !status; i++) {
    if (copies && is_run(&b->far[i])) {
      status = add_run(b, part, &b->far[i], b->far_gpus[i]);
      continue;
    }
    status = dp_cuda_part_stage(part);
    if (!status) status = stage(b, part, &staged, &b->far[i], b->far_gpus[i]);
  }
  if (!status) status = flush(b, part, &staged);
  free(staged.boxes);
  return status;
}

// ---- rounds ---------------------------------------------------------------------------------------------------------

static dp_status add_boxes(boxing *b, const dp_copy *copy) {
  const dp_cuda_box box = {.target = copy->target, .source = copy->source, .row = b->apart ? b->rows : 0};
  return add_region(b, &copy->region, 0, box);
}

// What one part does in the rounds [k, end).
static dp_status add_rounds(boxing *b, int k, int end, dp_cuda_part *part) {
  const dp_transfer *from = b->from;
  b->n_near = b->n_far = 0;
  b->action = DP_REGION_COPY;
  for (int p = 0; p < from->n_parts; p++)
    for (int i = from->first[p] + k; i < from->first[p + 1] && i < from->first[p] + end; i++) {
      const dp_copy *copy = &from->copies[i];
      if (is_empty(&copy->region)) continue;
      DP_TRY(place(b, copy));
      if (b->part != part) continue;
      b->action = copy->action;
      DP_TRY(add_boxes(b, copy));
    }
  if (!b->n_near && !b->n_far) return DP_OK;
  if (part->gpu) DP_TRY(dp_cuda_gpu_use(part->gpu));
  DP_TRY(add_near(b, part, from->by_copies && !b->action));
  return add_far(b, part, !b->action);
}

static dp_status add_all_rounds(boxing *b) {
  int rounds = 0;
  for (int p = 0; p < b->from->n_parts; p++) {
    const int copies = b->from->first[p + 1] - b->from->first[p];
    if (copies > rounds) rounds = copies;
  }
  const int step = dp_cuda_transfer_writes_apart(b->from) ? rounds : 1;
  for (int k = 0; k < rounds; k += step)
    for (int p = 0; p < b->n_parts; p++) DP_TRY(add_rounds(b, k, k + step, &b->parts[p]));
  return DP_OK;
}

// ---- once -----------------------------------------------------------------------------------------------------------

// Whether each target's GPU reaches all that is summed up there.
static dp_status reach_all(boxing *b, bool *reached) {
  *reached = true;
  for (int i = 0; i < b->from->first[b->from->n_parts] && *reached; i++) {
    DP_TRY(place(b, &b->from->copies[i]));
    *reached = !b->source_gpu;
  }
  return DP_OK;
}

// rows: at most.
static dp_status begin_once(boxing *b, int rows, int sources, int targets) {
  b->sources = sources;
  b->targets = targets;
  b->apart = calloc((size_t)rows * (size_t)sources + 1, sizeof *b->apart);
  b->spread = calloc((size_t)rows * (size_t)targets + 1, sizeof *b->spread);
  return b->apart && b->spread ? DP_OK : no_memory();
}

static void end_once(boxing *b) {
  free(b->apart);
  free(b->spread);
  b->apart = b->spread = NULL;
  b->first_near = 0;
}

static dp_status add_row(boxing *b, const dp_copy *copy) {
  b->first_near = b->n_near;
  DP_TRY(place(b, copy));
  DP_TRY(add_boxes(b, copy));
  b->rows++;
  return DP_OK;
}

static dp_status launch_once(boxing *b, dp_cuda_part *part) {
  if (!b->n_near) return DP_OK;
  if (part->gpu) DP_TRY(dp_cuda_gpu_use(part->gpu));
  return add_launch(b, part, b->near, b->n_near);
}

// The sums of one part. All copies of a part of the transfer differ in their source alone.
static dp_status add_sums(boxing *b, dp_cuda_part *part) {
  b->n_near = 0;
  b->rows = 0;
  for (int p = 0; p < b->from->n_parts; p++) {
    const dp_copy *copies = &b->from->copies[b->from->first[p]];
    if (is_empty(&copies->region)) continue;
    DP_TRY(place(b, copies));
    if (b->part != part) continue;
    for (int i = 0; i < b->sources; i++) b->apart[b->rows * b->sources + i] = copies[i].source - copies[0].source;
    DP_TRY(add_row(b, copies));
  }
  return launch_once(b, part);
}

static dp_status add_all_sums(boxing *b, int sources) {
  b->action = b->from->copies[1].action;
  DP_TRY(begin_once(b, b->from->n_parts, sources, 1));
  for (int p = 0; p < b->n_parts; p++) DP_TRY(add_sums(b, &b->parts[p]));
  return DP_OK;
}

// All parts of the transfer copy what its first one does, to targets of their own.
static dp_status add_spread(boxing *b) {
  const int n = b->from->first[1], targets = b->from->n_parts;
  const dp_copy *copies = b->from->copies;
  b->action = DP_REGION_COPY;
  DP_TRY(begin_once(b, n, 1, targets));
  for (int i = 0; i < n; i++) {
    if (is_empty(&copies[i].region)) continue;
    for (int p = 0; p < targets; p++)
      b->spread[b->rows * targets + p] = copies[b->from->first[p] + i].target - copies[i].target;
    DP_TRY(add_row(b, &copies[i]));
  }
  return launch_once(b, b->parts);
}

dp_status dp_cuda_transfer_boxes(const dp_transfer *from, dp_cuda_part *parts, int n_parts) {
  boxing b = {.from = from, .parts = parts, .n_parts = n_parts, .element_bytes = dp_type_bytes(from->dtype)};
  const int addends = dp_cuda_transfer_addends(from);
  bool sums = addends > 0;
  dp_status status = sums ? reach_all(&b, &sums) : DP_OK;
  const bool spreads = n_parts == 1 && dp_cuda_transfer_copies_alike(from);
  if (!status && sums) status = add_all_sums(&b, addends);
  if (!status && spreads) status = add_spread(&b);
  end_once(&b);
  // Where functions alone are asked for, nobody knows what will be within reach, so it is those of both ways.
  if (!status && ((!sums && !spreads) || !parts->gpu)) status = add_all_rounds(&b);
  free(b.near);
  free(b.far);
  free(b.far_gpus);
  return status;
}
