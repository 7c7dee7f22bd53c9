// See transfer.h. A list of copies becomes rounds: copy k of every part is in round k, since parts write apart from
// each other and copies of one part follow each other. A round is one launch over all its boxes, but what is contiguous
// and comes from the host is left to the copy engines.
#include "backends/cuda/transfer.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/device/all_reduce.h"
#include "backends/cuda/device/boxes.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/gpu/gpu.h"
#include "backends/cuda/gpu/memory.h"
#include "backends/cuda/kernels/types.h"

extern const char dp_cuda_source_boxes[], dp_cuda_source_all_reduce[];

typedef struct {
  int first, count;  // of the boxes
  int64_t elements;
  bool runs;  // its boxes are runs, which the copy engines take
  const dp_cuda_function *function;
} round_of_boxes;

typedef struct {
  ptrdiff_t host_copy_distance;
  size_t element_bytes;
  char *table;  // on the GPU; freed with the state
  uint64_t table_bytes;
  // All-reduce:
  const dp_cuda_function *function;
  dp_cuda_all_reduce all;
  int64_t elements;
  // or rounds:
  int n_rounds, n_boxes;
  round_of_boxes *rounds;
  dp_cuda_box *boxes;
} cuda_transfer;

// ---- functions ------------------------------------------------------------------------------------------------------

static dp_status add_function(const char *name, const char *source, dp_region_action action, dp_dtype dtype,
                              const dp_cuda_function **function) {
  static const char *const combine[] = {
      [DP_REGION_COPY] = "(s)",
      [DP_REGION_SUM] = "((T)((t) + (s)))",
      [DP_REGION_MAX] = "((s) > (t) || (s) != (s) ? (s) : (t))",
  };
  bool half = dtype == DP_FLOAT16 || dtype == DP_BFLOAT16;
  if (action && half)
    return dp_fail(EX_UNAVAILABLE, "backend cuda cannot reduce elements of type %s yet", dp_type_name(dtype));
  const char *type = action ? dp_cuda_type_of(dtype)->stored : dp_cuda_type_of_bytes(dp_type_bytes(dtype));
  char defines[256];
  snprintf(defines, sizeof defines, "#define T %s\n#define COMBINE(t, s) %s\n", type, combine[action]);
  return dp_cuda_function_add(name, defines, source, function);
}

// A table on the GPU. Without one, transfers are prepared for their functions alone.
static dp_status put_table(cuda_transfer *t, const void *table, uint64_t bytes) {
  if (!dp_cuda_gpu_opened()) return DP_OK;
  const dp_place place = {0};
  t->table = dp_cuda_allocate(place, bytes, 0);
  t->table_bytes = bytes;
  if (!t->table) return dp_fail(DP_EX_MEMORY, "the GPU has no memory for the tables of a collective");
  return dp_cuda_upload(0, t->table, table, bytes);
}

// ---- all-reduce -----------------------------------------------------------------------------------------------------

static dp_status prepare_all_reduce(const dp_transfer *from, cuda_transfer *t) {
  int64_t tensors = 0;
  while (from->begin[tensors] < from->count) tensors++;
  t->elements = from->count;
  if (!t->elements) return DP_OK;
  DP_TRY(add_function("all_reduce", dp_cuda_source_all_reduce, from->action, from->dtype, &t->function));
  size_t sources = (size_t)(tensors * from->n_sources), targets = (size_t)(tensors * from->n_targets);
  size_t starts = (size_t)tensors + 1, words = sources + targets + starts;
  uint64_t *table = calloc(words, sizeof *table);
  if (!table) return dp_fail(DP_EX_MEMORY, "no memory for the tables of a collective");
  for (size_t i = 0; i < sources; i++) table[i] = (uintptr_t)from->from[i];
  for (size_t i = 0; i < targets; i++) table[sources + i] = (uintptr_t)from->to[i];
  for (size_t i = 0; i < starts; i++) table[sources + targets + i] = (uint64_t)from->begin[i];
  dp_status status = put_table(t, table, words * sizeof *table);
  free(table);
  const uint64_t *at = (const uint64_t *)(void *)t->table;
  t->all = (dp_cuda_all_reduce){(const void *const *)at,
                                (void *const *)(at + sources),
                                (const long long *)(at + sources + targets),
                                tensors,
                                from->n_sources,
                                from->n_targets};
  return status;
}

// ---- lists of copies ------------------------------------------------------------------------------------------------

static bool add_box(cuda_transfer *t, const dp_cuda_box *box) {
  dp_cuda_box *boxes = realloc(t->boxes, ((size_t)t->n_boxes + 1) * sizeof *boxes);
  if (!boxes) return false;
  t->boxes = boxes;
  t->boxes[t->n_boxes++] = *box;
  return true;
}

static int64_t elements_of(const dp_cuda_box *box) {
  int64_t count = 1;
  for (int d = 0; d < box->rank; d++) count *= box->extents[d];
  return count;
}

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

// A box for each choice of a segment along every dim, from dim d on.
static bool add_boxes(cuda_transfer *t, const dp_region *r, int d, dp_cuda_box box) {
  if (d == r->rank) {
    join_dims(&box);
    return add_box(t, &box);
  }
  for (int i = 0; i < r->n_segments[d]; i++) {
    const dp_segment *s = &r->segments[d][i];
    dp_cuda_box part = box;
    part.target += (size_t)(s->target * r->target_stride[d]) * t->element_bytes;
    part.source += (size_t)(s->source * r->source_stride[d]) * t->element_bytes;
    part.extents[d] = s->length;
    part.target_strides[d] = r->target_stride[d];
    part.source_strides[d] = r->source_stride[d];
    part.rank = d + 1;
    if (!add_boxes(t, r, d + 1, part)) return false;
  }
  return true;
}

static dp_status prepare_round(const dp_transfer *from, int k, cuda_transfer *t) {
  round_of_boxes *round = &t->rounds[k];
  dp_region_action action = DP_REGION_COPY;
  round->first = t->n_boxes;
  for (int p = 0; p < from->n_parts; p++) {
    if (from->first[p] + k >= from->first[p + 1]) continue;
    const dp_copy *copy = &from->copies[from->first[p] + k];
    action = copy->action;
    const dp_cuda_box box = {.target = copy->target, .source = copy->source};
    if (!add_boxes(t, &copy->region, 0, box)) return dp_fail(DP_EX_MEMORY, "no memory for the tables of a collective");
  }
  round->count = t->n_boxes - round->first;
  round->runs = from->from_host && !action;
  for (int i = round->first; i < t->n_boxes; i++) {
    t->boxes[i].before = round->elements;
    round->elements += elements_of(&t->boxes[i]);
    round->runs &= is_run(&t->boxes[i]);
  }
  if (round->runs || !round->elements) return DP_OK;
  return add_function("boxes", dp_cuda_source_boxes, action, from->dtype, &round->function);
}

static dp_status prepare_rounds(const dp_transfer *from, cuda_transfer *t) {
  for (int p = 0; p < from->n_parts; p++)
    if (from->first[p + 1] - from->first[p] > t->n_rounds) t->n_rounds = from->first[p + 1] - from->first[p];
  t->rounds = calloc((size_t)t->n_rounds + 1, sizeof *t->rounds);
  if (!t->rounds) return dp_fail(DP_EX_MEMORY, "no memory for the tables of a collective");
  for (int k = 0; k < t->n_rounds; k++) DP_TRY(prepare_round(from, k, t));
  return t->n_boxes ? put_table(t, t->boxes, (uint64_t)t->n_boxes * sizeof *t->boxes) : DP_OK;
}

// ---- the calls ------------------------------------------------------------------------------------------------------

dp_status dp_cuda_transfer_prepare(int device, const dp_transfer *from, void **state) {
  (void)device;
  cuda_transfer *t = calloc(1, sizeof *t);
  if (!t) return dp_fail(DP_EX_MEMORY, "no memory for the tables of a collective");
  t->host_copy_distance = from->host_copy_distance;
  t->element_bytes = dp_type_bytes(from->dtype);
  dp_status status = from->n_targets ? prepare_all_reduce(from, t) : prepare_rounds(from, t);
  if (status)
    dp_cuda_transfer_release(t);
  else
    *state = t;
  return status;
}

void dp_cuda_transfer_release(void *state) {
  cuda_transfer *t = state;
  const dp_place place = {0};
  if (t->table) dp_cuda_release(place, t->table, t->table_bytes);
  free(t->rounds);
  free(t->boxes);
  free(t);
}

static dp_status copy_runs(dp_queue *queue, const cuda_transfer *t, const round_of_boxes *round, int slot) {
  for (int i = round->first; i < round->first + round->count; i++) {
    const dp_cuda_box *box = &t->boxes[i];
    size_t bytes = (size_t)elements_of(box) * t->element_bytes;
    uintptr_t source = (uintptr_t)(box->source + slot * t->host_copy_distance);
    if (bytes)
      DP_TRY(dp_cuda_check(
          dp_cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)box->target, source, bytes, dp_cuda_queue_stream(queue)),
          "copying the batch"));
  }
  return DP_OK;
}

dp_status dp_cuda_transfer_enqueue(dp_queue *const *queues, void *state, int slot) {
  dp_queue *queue = *queues;
  const cuda_transfer *t = state;
  if (t->function)
    return dp_cuda_launch(queue, t->function, dp_cuda_blocks(t->elements), DP_CUDA_THREADS, &t->all, sizeof t->all);
  for (int k = 0; k < t->n_rounds; k++) {
    const round_of_boxes *round = &t->rounds[k];
    if (round->runs) {
      DP_TRY(copy_runs(queue, t, round, slot));
      continue;
    }
    const dp_cuda_boxes arguments = {(const dp_cuda_box *)(void *)t->table + round->first, round->count,
                                     round->elements, slot * t->host_copy_distance};
    if (round->elements)
      DP_TRY(dp_cuda_launch(queue, round->function, dp_cuda_blocks(round->elements), DP_CUDA_THREADS, &arguments,
                            sizeof arguments));
  }
  return DP_OK;
}
