// Convolution. See conv.h.
#include <stdlib.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/windows/conv.h"
#include "ir/kernel/extents.h"

const dp_cuda_conv dp_cuda_conv_forward = {"conv", dp_cuda_source_conv, .x = 0, .w = 1, .y = DP_CONV_OUT, .bias = 2};

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_cuda_conv_prepare(spec, &dp_cuda_conv_forward, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)spec, (void)scratch;
  return dp_cuda_conv_enqueue(&dp_cuda_conv_forward, state, queue, in, out);
}

const dp_kernel dp_kernel_cuda_Conv = {
    .name = "cuda.device.Conv",
    .op = "Conv",
    .domain = "",
    .types = DP_WINDOWS_TYPES,
    .channels_last = true,
    .match = dp_one_layout,
    .shares_state = true,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
