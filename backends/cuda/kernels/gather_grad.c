// dp.GatherGrad: adds slices along `axis` where the indices say, in the order of the indices. These are sorted first,
// so that each slice of the result finds its own: one launch sorts runs, one or more merge them (one up to 16,384
// indices, two up to 262,144), one adds. Updates are read once and the result is written once.
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/device/gather.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/gpu/alignment.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/index.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

typedef struct {
  const dp_cuda_function *sort, *merge, *sum;
} gradient_state;

static int axis_of(const dp_kernel_spec *spec) {
  return dp_axis(dp_node_int(spec->node, "axis", 0), spec->outputs[0].local.rank);
}

// Bits that hold 0 .. count - 1.
static int bits_for(int64_t count) {
  int bits = 0;
  while (bits < 63 && count > (int64_t)1 << bits) bits++;
  return bits;
}

// A key has 64 bits, and there is one above all.
static bool match(const dp_kernel_spec *spec) {
  const dp_dtype index = spec->inputs[1].dtype;
  const int64_t here = dp_out_extents(spec, 0)[axis_of(spec)];
  return (index == DP_INT32 || index == DP_INT64) && (DP_BIT(spec->inputs[0].dtype) & DP_CUDA_FLOATS) &&
         bits_for(here + 1) + bits_for(dp_in_count(spec, 1)) < 64;
}

// ---- scratch: the keys twice, then where each slice's begin ---------------------------------------------------------

static uint64_t keys_bytes(const dp_kernel_spec *spec) {
  const uint64_t bytes = (uint64_t)dp_in_count(spec, 1) * sizeof(unsigned long long);
  return (bytes + DP_CUDA_ALIGNMENT - 1) / DP_CUDA_ALIGNMENT * DP_CUDA_ALIGNMENT;
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const int64_t here = dp_out_extents(spec, 0)[axis_of(spec)];
  return 2 * keys_bytes(spec) + ((uint64_t)here + 1) * sizeof(long long);
}

// ---- prepare, enqueue -----------------------------------------------------------------------------------------------

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  gradient_state s;
  char index[64];
  snprintf(index, sizeof index, "#define I %s\n", dp_cuda_type_of(spec->inputs[1].dtype)->stored);
  DP_TRY(dp_cuda_function_add("GatherGrad_sort", index, dp_cuda_source_gather_sort, &s.sort));
  DP_TRY(dp_cuda_function_add("GatherGrad_merge", "", dp_cuda_source_gather_merge, &s.merge));
  DP_TRY(dp_cuda_function_add("GatherGrad", dp_cuda_type_of(spec->inputs[0].dtype)->defines, dp_cuda_source_gather_grad,
                              &s.sum));
  gradient_state *made = malloc(sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  *made = s;
  *state = made;
  return DP_OK;
}

// Merges runs until there is one; returns it in *keys.
static dp_status merge(const gradient_state *s, dp_queue *queue, dp_gather_merge_arguments *a, long long *starts,
                       const unsigned long long **keys) {
  for (a->length = DP_GATHER_RUN;; a->length *= DP_GATHER_WAYS) {
    const bool last = a->length * DP_GATHER_WAYS >= a->count;
    a->starts = last ? starts : NULL;
    const int64_t elements = a->count + (last ? a->here + 1 : 0);
    DP_TRY(dp_cuda_launch(queue, s->merge, dp_cuda_blocks(elements), DP_CUDA_THREADS, a, sizeof *a));
    *keys = a->to;
    if (last) return DP_OK;
    a->to = (unsigned long long *)(uintptr_t)a->from;
    a->from = *keys;
  }
}

// Whether rows of both tensors are made of whole vectors.
static int has_vectors(const dp_kernel_spec *spec, int64_t inner, const void *dy, const void *dx) {
  const uintptr_t row = (uintptr_t)inner * dp_type_bytes(spec->inputs[0].dtype);
  return (row | (uintptr_t)dy | (uintptr_t)dx) % DP_VECTOR_BYTES == 0;
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  const gradient_state *s = state;
  const dp_local *dx = &spec->outputs[0].local;
  const int axis = axis_of(spec);
  const int64_t count = dp_in_count(spec, 1), here = dx->extents[axis];
  unsigned long long *first = scratch, *second = first + keys_bytes(spec) / sizeof *first;
  long long *starts = (long long *)(second + keys_bytes(spec) / sizeof *first);
  dp_gather_sum_arguments sum = {.outer = dp_product(dx->extents, 0, axis),
                                 .here = here,
                                 .inner = dp_product(dx->extents, axis + 1, dx->rank),
                                 .count = count,
                                 .shift = bits_for(count),
                                 .starts = starts,
                                 .dy = in[0],
                                 .dx = out[0]};
  if (!sum.outer || !sum.inner) return DP_OK;
  sum.vectors = has_vectors(spec, sum.inner, in[0], out[0]);
  const dp_gather_sort_arguments sort = {count, here, sum.shift, dp_cuda_index_dim(dx, axis, queue), in[1], first};
  const int64_t runs = (count + DP_GATHER_RUN - 1) / DP_GATHER_RUN;
  DP_TRY(dp_cuda_launch(queue, s->sort, runs, DP_CUDA_THREADS, &sort, sizeof sort));
  dp_gather_merge_arguments merging = {.count = count, .here = here, .shift = sum.shift, .from = first, .to = second};
  DP_TRY(merge(s, queue, &merging, starts, &sum.keys));
  const int64_t width = sum.vectors ? DP_VECTOR_BYTES / (int64_t)dp_type_bytes(spec->inputs[0].dtype) : 1;
  const int64_t blocks = dp_cuda_blocks(dp_out_count(spec, 0) / width);
  return dp_cuda_launch(queue, s->sum, blocks, DP_CUDA_THREADS, &sum, sizeof sum);
}

const dp_kernel dp_kernel_cuda_dp_GatherGrad = {
    .name = "cuda.device.dp.GatherGrad",
    .op = "GatherGrad",
    .domain = "dp",
    .types = DP_STORED,
    .shares_state = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
