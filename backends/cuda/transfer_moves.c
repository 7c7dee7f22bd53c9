// Boxes become launches. What lies on both sides at the same distance from a multiple of 16 bytes is moved 16 bytes at
// a time, in a launch of its own: boxes whose rows are so many bytes, and the inner part of runs. The rest goes element
// by element.
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/device/vectors.h"
#include "backends/cuda/transfer_part.h"

extern const char dp_cuda_source_boxes[];

// Boxes of one launch, in units of `width` elements.
typedef struct {
  int64_t width;
  dp_cuda_box *boxes;
  int count;
} units;

// Adds the box; its last dim has neighbours if units have several elements.
static void add(units *u, dp_cuda_box box) {
  const int last = box.rank - 1;
  if (u->width > 1) {
    box.extents[last] /= u->width;
    box.target_strides[last] = box.source_strides[last] = u->width;
  }
  box.units = dp_cuda_box_elements(&box);
  if (box.units) u->boxes[u->count++] = box;
}

// Adds `count` elements of a run, from `first` on.
static void add_part(units *u, const dp_cuda_box *run, int64_t first, int64_t count, size_t element_bytes) {
  dp_cuda_box part = *run;
  part.target += (size_t)first * element_bytes;
  part.source += (size_t)first * element_bytes;
  part.extents[0] = count;
  add(u, part);
}

// Whether the bytes of all sources and targets lie alike, seen from multiples of a vector's.
static bool lie_alike(const dp_cuda_moves *m, const dp_cuda_box *box) {
  const int64_t *apart = m->apart + box->row * m->sources, *spread = m->spread + box->row * m->targets;
  bool alike = (box->source - box->target) % DP_VECTOR_BYTES == 0 && m->from->host_copy_distance % DP_VECTOR_BYTES == 0;
  for (int64_t s = 0; s < m->sources; s++) alike &= apart[s] % DP_VECTOR_BYTES == 0;
  for (int64_t t = 0; t < m->targets; t++) alike &= spread[t] % DP_VECTOR_BYTES == 0;
  return alike;
}

// Whether the box is one of vectors, each of which begins at a multiple of its bytes.
static bool is_even(const dp_cuda_box *box, int64_t width) {
  const int last = box->rank - 1;
  bool even = (uintptr_t)box->target % DP_VECTOR_BYTES == 0 && box->extents[last] % width == 0;
  for (int d = 0; d < last; d++) even &= box->target_strides[d] % width == 0 && box->source_strides[d] % width == 0;
  return even;
}

static void divide(const dp_cuda_moves *m, dp_cuda_box box, units *wide, units *narrow) {
  const size_t element_bytes = dp_type_bytes(m->from->dtype);
  const int64_t width = wide->width;
  if (!box.rank) {
    box.rank = 1;
    box.extents[0] = box.target_strides[0] = box.source_strides[0] = 1;
  }
  const int last = box.rank - 1;
  const bool rows = box.target_strides[last] == 1 && box.source_strides[last] == 1;
  if (width == 1 || !rows || !lie_alike(m, &box) || (last && !is_even(&box, width))) {
    add(narrow, box);
  } else if (last) {
    add(wide, box);
  } else {
    const int64_t count = box.extents[0], past = (int64_t)((uintptr_t)box.target % DP_VECTOR_BYTES / element_bytes);
    const int64_t before = dp_min_i64(past ? width - past : 0, count), inner = (count - before) / width * width;
    add_part(narrow, &box, 0, before, element_bytes);
    add_part(wide, &box, before, inner, element_bytes);
    add_part(narrow, &box, before + inner, count - before - inner, element_bytes);
  }
}

static dp_status find_function(const dp_cuda_moves *m, int64_t width, const dp_cuda_function **function) {
  char defines[64];
  int64_t most = 0;
  for (int i = 0; i < m->count; i++) most = dp_max_i64(most, dp_cuda_box_elements(&m->boxes[i]));
  snprintf(defines, sizeof defines, "#define WIDTH %d\n#define INDEX %s\n", (int)width,
           most <= UINT32_MAX ? "dp_u32" : "dp_u64");
  return dp_cuda_transfer_function("boxes", defines, dp_cuda_source_boxes, m->action, m->from->dtype, function);
}

// Where functions alone are asked for, nobody knows yet where memory will be.
static dp_status launch(const dp_cuda_moves *m, dp_cuda_part *part, const units *u) {
  dp_cuda_step step = {
      .kind = DP_CUDA_STEP_BOXES, .count = u->count, .sources = m->sources, .targets = m->targets, .adds = m->adds};
  if (u->count || !part->gpu) DP_TRY(find_function(m, u->width, &step.function));
  if (!u->count) return DP_OK;
  for (int i = 0; i < u->count; i++) {
    u->boxes[i].before = step.elements;
    step.elements += (u->boxes[i].units + DP_CUDA_BOX_CHUNK - 1) / DP_CUDA_BOX_CHUNK;
  }
  DP_TRY(dp_cuda_part_put(part, u->boxes, (size_t)u->count * sizeof *u->boxes, &step.table));
  DP_TRY(dp_cuda_part_put(part, m->apart, (size_t)(m->rows * m->sources) * sizeof *m->apart, &step.apart));
  DP_TRY(dp_cuda_part_put(part, m->spread, (size_t)(m->rows * m->targets) * sizeof *m->spread, &step.spread));
  return dp_cuda_part_add(part, &step);
}

dp_status dp_cuda_transfer_move(const dp_cuda_moves *m, dp_cuda_part *part) {
  if (!m->count) return DP_OK;
  const size_t element_bytes = dp_type_bytes(m->from->dtype);
  dp_cuda_box *boxes = malloc(3 * (size_t)m->count * sizeof *boxes);
  if (!boxes) return dp_fail(DP_EX_MEMORY, "no memory for the tables of a collective");
  units wide = {DP_VECTOR_BYTES / (int64_t)element_bytes, boxes, 0};
  units narrow = {1, boxes + m->count, 0};
  for (int i = 0; i < m->count; i++) divide(m, m->boxes[i], &wide, &narrow);
  dp_status status = launch(m, part, &wide);
  if (!status) status = launch(m, part, &narrow);
  free(boxes);
  return status;
}
