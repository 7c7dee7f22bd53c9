// dp.ConvGradInput(w, dy) by cuDNN.
#include "backends/cuda/cudnn/convolution.h"
#include "ir/kernel/extents.h"

static const dp_cudnn_convolution convolution = {DP_CUDNN_GRAD_INPUT, &dp_cuda_conv_grad_input};

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_cudnn_convolution_prepare(spec, &convolution, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)spec;
  return dp_cudnn_convolution_enqueue(&convolution, state, queue, in, out, scratch);
}

const dp_kernel dp_kernel_cuda_cudnn_dp_ConvGradInput = {
    .name = "cuda.cudnn.dp.ConvGradInput",
    .op = "ConvGradInput",
    .domain = "dp",
    .priority = 10,
    .library = true,
    .types = DP_WINDOWS_TYPES,
    .channels_last = true,
    .match = dp_one_layout,
    .scratch_bytes = dp_cudnn_convolution_scratch_bytes,
    .shares_state = true,
    .expect = dp_cudnn_expect,
    .prepare = prepare,
    .release = dp_cudnn_convolution_release,
    .enqueue = enqueue,
};
