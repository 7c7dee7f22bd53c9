// ReduceLogSumExp: the logarithm of the sum of e^x over the dims `axes`. A block for each result.
#include "backends/cuda/device/reduce_log_sum_exp.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/reduce_dims.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_cuda_function_state(spec->op->name, dp_cuda_type_of(spec->inputs[0].dtype)->defines,
                                dp_cuda_source_reduce_log_sum_exp, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  dp_log_sum_exp_arguments a = {.x = in[0], .y = out[0]};
  bool reduced[DP_MAX_RANK];
  DP_TRY(dp_reduce_axes(spec->node, dp_in_rank(spec, 0), reduced));
  dp_cuda_reduce_dims(&spec->inputs[0].local, reduced, &a.kept, &a.reduced);
  return dp_cuda_launch(queue, state, a.kept.count, dp_cuda_row_threads(a.reduced.count), &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_ReduceLogSumExp = {
    .name = "cuda.device.ReduceLogSumExp",
    .op = "ReduceLogSumExp",
    .domain = "",
    .types = DP_CUDA_FLOATS,
    .shares_state = true,
    .prepare = prepare,
    .enqueue = enqueue,
};
