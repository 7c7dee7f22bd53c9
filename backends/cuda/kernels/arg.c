// ArgMax and ArgMin: a thread for each result.
#include <stdio.h>
#include <string.h>

#include "backends/cuda/device/arg.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const bool largest = !strcmp(spec->op->name, "ArgMax"), last = dp_node_int(spec->node, "select_last_index", 0) != 0;
  char defines[256];
  snprintf(defines, sizeof defines, "%s#define BETTER(a, b) ((a) %c (b))\n#define LAST %d\n",
           dp_cuda_type_of(spec->inputs[0].dtype)->defines, largest ? '>' : '<', last);
  return dp_cuda_function_state(spec->op->name, defines, dp_cuda_source_arg, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  const int rank = dp_in_rank(spec, 0), axis = dp_axis(dp_node_int(spec->node, "axis", 0), rank);
  const int64_t *extents = dp_in_extents(spec, 0);
  const dp_arg_arguments a = {dp_out_count(spec, 0), extents[axis], dp_product(extents, axis + 1, rank), in[0], out[0]};
  return dp_cuda_launch(queue, state, dp_cuda_blocks(a.count), DP_CUDA_THREADS, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_ArgMax = {
    .name = "cuda.device.ArgMax",
    .op = "ArgMax",
    .domain = "",
    .types = DP_CUDA_COMPUTED,
    .shares_state = true,
    .prepare = prepare,
    .enqueue = enqueue,
};

const dp_kernel dp_kernel_cuda_ArgMin = {
    .name = "cuda.device.ArgMin",
    .op = "ArgMin",
    .domain = "",
    .types = DP_CUDA_COMPUTED,
    .shares_state = true,
    .prepare = prepare,
    .enqueue = enqueue,
};
