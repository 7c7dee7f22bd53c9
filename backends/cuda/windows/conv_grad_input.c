// dp.ConvGradInput(w, dy). See conv.h.
#include <stdlib.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/windows/conv.h"
#include "ir/kernel/extents.h"

const dp_cuda_conv dp_cuda_conv_grad_input = {
    "conv_grad_input", dp_cuda_source_conv_grad_input, .x = DP_CONV_OUT, .w = 0, .y = 1, .bias = DP_CONV_OUT};

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_cuda_conv_prepare(spec, &dp_cuda_conv_grad_input, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)spec, (void)scratch;
  return dp_cuda_conv_enqueue(&dp_cuda_conv_grad_input, state, queue, in, out);
}

const dp_kernel dp_kernel_cuda_dp_ConvGradInput = {
    .name = "cuda.device.dp.ConvGradInput",
    .op = "ConvGradInput",
    .domain = "dp",
    .types = DP_WINDOWS_TYPES,
    .channels_last = true,
    .match = dp_one_layout,
    .shares_state = true,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
