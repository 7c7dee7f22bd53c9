// TopK: the k best elements along `axis`, best first, and their indices; among equals the first. NaN counts as the
// largest.
#include <stdio.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/top_k.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

_Static_assert((int)DP_TOP_K_THREADS == (int)DP_BLOCK_MOST, "a block has room for what each thread finds");

enum { EACH = 16 };  // elements of a thread, unless a row has more than a block's threads take

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_dtype dtype = spec->inputs[0].dtype;
  char defines[256];
  snprintf(defines, sizeof defines, "%s#define IS_NAN(x) %s\n#define LARGEST %d\n", dp_cuda_type_of(dtype)->defines,
           dp_type_is_float(dtype) ? "((x) != (x))" : "false", dp_node_int(spec->node, "largest", 1) != 0);
  return dp_cuda_function_state(spec->op->name, defines, dp_cuda_source_top_k, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  const int rank = dp_in_rank(spec, 0), axis = dp_axis(dp_node_int(spec->node, "axis", -1), rank);
  const int64_t *x = dp_in_extents(spec, 0), inner = dp_product(x, axis + 1, rank);
  const dp_top_k_arguments a = {x[axis], dp_out_extents(spec, 0)[axis], inner, in[0], out[0], out[1]};
  if (!a.count) return DP_OK;
  const int threads = dp_cuda_row_threads((a.length + EACH - 1) / EACH);
  return dp_cuda_launch(queue, state, dp_product(x, 0, axis) * inner, threads, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_TopK = {
    .name = "cuda.device.TopK",
    .op = "TopK",
    .domain = "",
    .types = DP_CUDA_COMPUTED,
    .shares_state = true,
    .prepare = prepare,
    .enqueue = enqueue,
};
