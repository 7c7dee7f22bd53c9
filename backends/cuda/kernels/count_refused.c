// dp.CountRefused: how much data a node would refuse, by one block.
#include <stdio.h>

#include "backends/cuda/device/count_refused.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/draw.h"
#include "backends/cuda/kernels/types.h"
#include "ir/graph/refusal.h"
#include "ir/kernel/extents.h"

static bool match(const dp_kernel_spec *spec) { return dp_cuda_is_int64(spec, 1); }

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  char defines[64];
  snprintf(defines, sizeof defines, "#define T %s\n", dp_cuda_type_of(spec->inputs[0].dtype)->stored);
  return dp_cuda_function_state("count_refused", defines, dp_cuda_source_count_refused, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  const dp_refusal refusal = dp_refusal_counted(spec->node);
  const dp_count_refused_arguments a = {.count = dp_in_count(spec, 0),
                                        .bounded = refusal.bounded,
                                        .negative = refusal.negative,
                                        .has_other = refusal.has_other,
                                        .scale = refusal.limit.scale,
                                        .offset = refusal.limit.offset,
                                        .other = refusal.other,
                                        .n = dp_has_in(spec, 1) ? in[1] : NULL,
                                        .reporter = {dp_cuda_queue_fault(queue), dp_cuda_queue_instruction(queue)},
                                        .x = in[0],
                                        .y = out[0]};
  return dp_cuda_launch(queue, state, 1, dp_cuda_row_threads(a.count), &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_dp_CountRefused = {
    .name = "cuda.device.dp.CountRefused",
    .op = "CountRefused",
    .domain = "dp",
    .types = DP_INTS,
    .shares_state = true,
    .match = match,
    .prepare = prepare,
    .enqueue = enqueue,
};
