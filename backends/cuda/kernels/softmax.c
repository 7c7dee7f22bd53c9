// Softmax and LogSoftmax along `axis`: a block for each row.
#include <stdio.h>
#include <string.h>

#include "backends/cuda/device/rows.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const bool logarithm = !strcmp(spec->op->name, "LogSoftmax");
  const dp_dtype dtype = spec->inputs[0].dtype;
  char defines[256];
  snprintf(defines, sizeof defines, "%s#define LOGARITHM %d\n#define STEPS %d\n", dp_cuda_type_of(dtype)->defines,
           logarithm, dtype == DP_FLOAT16 && !logarithm);
  return dp_cuda_function_state(spec->op->name, defines, dp_cuda_source_softmax, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  const int rank = dp_in_rank(spec, 0), axis = dp_axis(dp_node_int(spec->node, "axis", -1), rank);
  const int64_t *extents = dp_in_extents(spec, 0), inner = dp_product(extents, axis + 1, rank);
  const dp_softmax_arguments a = {dp_product(extents, 0, axis) * inner, extents[axis], inner, in[0], out[0]};
  if (!a.length) return DP_OK;
  return dp_cuda_launch(queue, state, a.rows, dp_cuda_row_threads(a.length), &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_Softmax = {
    .name = "cuda.device.Softmax",
    .op = "Softmax",
    .domain = "",
    .types = DP_CUDA_FLOATS,
    .shares_state = true,
    .in_place = true,
    .prepare = prepare,
    .enqueue = enqueue,
};

const dp_kernel dp_kernel_cuda_LogSoftmax = {
    .name = "cuda.device.LogSoftmax",
    .op = "LogSoftmax",
    .domain = "",
    .types = DP_CUDA_FLOATS,
    .shares_state = true,
    .in_place = true,
    .prepare = prepare,
    .enqueue = enqueue,
};
