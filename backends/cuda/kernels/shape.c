// Shape: the extents of the whole operand.
#include "ir/ops/shape.h"

#include "backends/cuda/device/shape.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/function.h"
#include "ir/kernel/extents.h"

_Static_assert((int)DP_SHAPE_RANK == (int)DP_MAX_RANK, "a launch holds as many extents as tensors have");

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_cuda_function_state(spec->op->name, "", dp_cuda_source_shape, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)in, (void)scratch;
  int from, to;
  dp_shape_range(spec->node, dp_in_rank(spec, 0), &from, &to);
  dp_shape_arguments a = {.y = out[0]};
  for (int d = from; d < to; d++) a.extents[a.count++] = spec->inputs[0].local.whole[d];
  return dp_cuda_launch(queue, state, dp_cuda_blocks(a.count), DP_SHAPE_RANK, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_Shape = {
    .name = "cuda.device.Shape",
    .op = "Shape",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .prepare = prepare,
    .enqueue = enqueue,
};
