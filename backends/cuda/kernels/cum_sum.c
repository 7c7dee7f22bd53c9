// CumSum: running sums along `axis`. Floats are summed in float64; integers wrap.
#include <stdio.h>

#include "backends/cuda/device/cum_sum.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

_Static_assert((int)DP_CUM_SUM_THREADS == (int)DP_BLOCK_MOST, "a block has at most one sum for each thread");

// Lines of up to so many elements have a thread each, and all lines whose elements are not neighbours; but not fewer
// lines than keep a GPU busy.
enum { SHORT = 32, MANY = 8192 };

static dp_cum_sum_arguments arguments_of(const dp_kernel_spec *spec) {
  const int rank = dp_in_rank(spec, 0), axis = dp_axis(dp_node_int(spec->node, "axis", 0), rank);
  const int64_t *extents = dp_in_extents(spec, 0), inner = dp_product(extents, axis + 1, rank);
  return (dp_cum_sum_arguments){.length = extents[axis], .inner = inner, .lines = dp_product(extents, 0, axis) * inner};
}

static bool is_by_lines(const dp_cum_sum_arguments *a) {
  return a->lines >= MANY && (a->inner > 1 || a->length <= SHORT);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_dtype dtype = spec->inputs[0].dtype;
  const dp_cum_sum_arguments a = arguments_of(spec);
  char defines[256];
  snprintf(defines, sizeof defines, "%s#define A %s\n#define EXCLUSIVE %d\n#define REVERSE %d\n",
           dp_cuda_type_of(dtype)->defines, dp_type_is_float(dtype) ? "double" : "dp_u64",
           dp_node_int(spec->node, "exclusive", 0) != 0, dp_node_int(spec->node, "reverse", 0) != 0);
  return dp_cuda_function_state(spec->op->name, defines,
                                is_by_lines(&a) ? dp_cuda_source_cum_sum_lines : dp_cuda_source_cum_sum, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  dp_cum_sum_arguments a = arguments_of(spec);
  const uintptr_t bytes = DP_CUM_SUM_EACH * (uintptr_t)dp_type_bytes(spec->inputs[0].dtype);
  a.x = in[0];
  a.y = out[0];
  a.aligned = a.inner == 1 && a.length % DP_CUM_SUM_EACH == 0 && ((uintptr_t)in[0] | (uintptr_t)out[0]) % bytes == 0;
  if (!a.length) return DP_OK;
  if (is_by_lines(&a)) return dp_cuda_launch(queue, state, dp_cuda_blocks(a.lines), DP_CUDA_THREADS, &a, sizeof a);
  const int threads = dp_cuda_row_threads((a.length + DP_CUM_SUM_EACH - 1) / DP_CUM_SUM_EACH);
  return dp_cuda_launch(queue, state, a.lines, threads, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_CumSum = {
    .name = "cuda.device.CumSum",
    .op = "CumSum",
    .domain = "",
    .types = DP_CUDA_COMPUTED,
    .shares_state = true,
    .prepare = prepare,
    .enqueue = enqueue,
};
