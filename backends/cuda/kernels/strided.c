// Copies between tensors that are walked differently. See strided.h.
#include "backends/cuda/kernels/strided.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/kernels/types.h"

_Static_assert((int)DP_STRIDED_RANK == 2 * (int)DP_MAX_RANK, "Tile walks each dim in two");

void dp_cuda_strides_of(int rank, const int64_t *extents, int64_t *strides) {
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; d--) {
    strides[d] = stride;
    stride *= extents[d];
  }
}

void dp_cuda_strides_in(dp_layout layout, int rank, const int64_t *extents, int64_t *strides) {
  dp_cuda_strides_of(rank, extents, strides);
  if (layout != DP_LAYOUT_NHWC) return;
  strides[1] = 1;
  strides[3] = extents[1];
  strides[2] = extents[3] * strides[3];
}

// Appends a dim, or makes the last one longer if both tensors go on evenly.
static void append(dp_strided_arguments *a, int *rank, int64_t extent, int64_t from, int64_t to) {
  const int last = *rank - 1;
  if (last >= 0 && a->from_strides[last] == from * extent && a->to_strides[last] == to * extent) {
    a->extents[last] *= extent;
    a->from_strides[last] = from;
    a->to_strides[last] = to;
    return;
  }
  a->extents[*rank] = extent;
  a->from_strides[*rank] = from;
  a->to_strides[(*rank)++] = to;
}

static void swap(long long *numbers, int i, int j) {
  const long long held = numbers[i];
  numbers[i] = numbers[j];
  numbers[j] = held;
}

// Whether the copy gains by tiles: neighbours where elements come from are no neighbours where they go, and there are
// enough of both. Makes the dim of the former the last but one; the last is that of the latter.
static bool arrange_tiles(dp_strided_arguments *a, int rank) {
  enum { WORTH = DP_STRIDED_TILE / 2 };
  const int last = rank - 1;
  if (rank < 2 || a->to_strides[last] != 1 || a->from_strides[last] == 1 || a->extents[last] < WORTH) return false;
  for (int d = 0; d < last; d++) {
    if (a->from_strides[d] != 1 || a->extents[d] < WORTH) continue;
    long long *const of_dims[] = {a->extents, a->from_strides, a->to_strides};
    for (size_t i = 0; i < DP_COUNT(of_dims); i++) swap(of_dims[i], d, last - 1);
    return true;
  }
  return false;
}

// Whether elements of tiles can be moved in pairs, which short ones gain by: both sides have pairs in each of their
// rows.
static bool have_pairs(const dp_strided_arguments *a, int rank, const dp_cuda_path *path, int64_t bytes) {
  const int row = rank - 2, column = rank - 1;
  bool parts = path->from_start % 2 || path->to_start % 2 || a->extents[row] % 2 || a->extents[column] % 2;
  for (int d = 0; d < rank; d++) parts |= (d != row && a->from_strides[d] % 2) || (d != column && a->to_strides[d] % 2);
  return !parts && bytes <= 2 && a->extents[row] >= DP_STRIDED_TILE && a->extents[column] >= DP_STRIDED_TILE;
}

static int64_t tiles_of(const dp_strided_arguments *a, int rank, int64_t side) {
  int64_t tiles = 1;
  for (int d = 0; d < rank - 2; d++) tiles *= a->extents[d];
  for (int d = rank - 2; d < rank; d++) tiles *= (a->extents[d] + side - 1) / side;
  return tiles;
}

// Makes the last dim one of neighbours that can be moved at once; returns how many these are.
static int64_t widen(dp_strided_arguments *a, int rank, const dp_cuda_path *path, int64_t bytes) {
  const int last = rank - 1;
  if (a->from_strides[last] != 1 || a->to_strides[last] != 1) return 1;
  int64_t width = DP_VECTOR_BYTES / bytes;
  for (; width > 1; width /= 2) {
    bool parts = a->extents[last] % width || path->from_start % width || path->to_start % width;
    for (int d = 0; d < last; d++) parts |= a->from_strides[d] % width || a->to_strides[d] % width;
    if (!parts) break;
  }
  a->extents[last] /= width;
  a->count /= width;
  a->from_strides[last] = a->to_strides[last] = width;
  return width;
}

dp_status dp_cuda_copy_make(dp_dtype dtype, const dp_cuda_path *path, dp_cuda_copy *copy) {
  *copy = (dp_cuda_copy){
      .element_bytes = (int64_t)dp_type_bytes(dtype), .from_start = path->from_start, .to_start = path->to_start};
  dp_strided_arguments *a = &copy->arguments;
  int rank = 0;
  a->count = 1;
  for (int d = 0; d < path->rank; d++) {
    a->count *= path->extents[d];
    if (path->extents[d] != 1) append(a, &rank, path->extents[d], path->from_strides[d], path->to_strides[d]);
  }
  if (!a->count) return DP_OK;
  if (!rank) a->extents[rank++] = 1;
  const bool tiles = arrange_tiles(a, rank), pairs = tiles && have_pairs(a, rank, path, copy->element_bytes);
  copy->width = pairs ? 2 : tiles ? 1 : widen(a, rank, path, copy->element_bytes);
  copy->blocks = tiles ? tiles_of(a, rank, copy->width * DP_STRIDED_TILE) : dp_cuda_blocks(a->count);
  char defines[128];
  snprintf(defines, sizeof defines, "#define T %s\n#define RANK %d\n#define WIDTH %d\n#define INDEX %s\n",
           dp_cuda_type_of_bytes(dp_type_bytes(dtype)), rank, (int)copy->width,
           a->count <= UINT32_MAX ? "dp_u32" : "dp_u64");
  return dp_cuda_function_add(pairs   ? "tile_pairs"
                              : tiles ? "tiles"
                                      : "strided",
                              defines,
                              pairs   ? dp_cuda_source_tile_pairs
                              : tiles ? dp_cuda_source_tiles
                                      : dp_cuda_source_strided,
                              &copy->function);
}

dp_status dp_cuda_copies_make(const dp_kernel_spec *spec, int count, const dp_cuda_path *paths, void **state) {
  dp_cuda_copy *copies = calloc((size_t)count, sizeof *copies);
  if (!copies) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  dp_status status = DP_OK;
  for (int i = 0; i < count && !status; i++) status = dp_cuda_copy_make(spec->inputs[0].dtype, &paths[i], &copies[i]);
  if (status)
    free(copies);
  else
    *state = copies;
  return status;
}

dp_status dp_cuda_copy_enqueue(const dp_cuda_copy *copy, dp_queue *queue, const void *from, void *to) {
  if (!copy->function) return DP_OK;
  dp_strided_arguments a = copy->arguments;
  a.from = (const char *)from + copy->from_start * copy->element_bytes;
  a.to = (char *)to + copy->to_start * copy->element_bytes;
  a.aligned = ((uintptr_t)a.from | (uintptr_t)a.to) % (uintptr_t)(copy->width * copy->element_bytes) == 0;
  return dp_cuda_launch(queue, copy->function, copy->blocks, DP_CUDA_THREADS, &a, sizeof a);
}

dp_status dp_cuda_one_copy_enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                   void *const *out, void *scratch) {
  (void)spec, (void)scratch;
  return dp_cuda_copy_enqueue(state, queue, in[0], out[0]);
}

dp_cuda_path dp_cuda_path_dense(int64_t count) {
  return (dp_cuda_path){.rank = 1, .extents = {count}, .from_strides = {1}, .to_strides = {1}};
}
