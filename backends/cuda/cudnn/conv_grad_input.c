// dp.ConvGradInput(w, dy): by cuDNN, or as products of matrices by cuBLASLt (column_convolution.h).
#include <stdlib.h>

#include "backends/cuda/cudnn/column_convolution.h"
#include "backends/cuda/cudnn/ways.h"
#include "ir/kernel/extents.h"

static const dp_cudnn_convolution convolution = {DP_CUDNN_GRAD_INPUT, &dp_cuda_conv_grad_input};

static dp_status prepare_cudnn(const dp_kernel_spec *spec, void **state) {
  return dp_cudnn_convolution_prepare(spec, &convolution, state);
}

static dp_status enqueue_cudnn(void *state, dp_queue *queue, const void *const *in, void *const *out, void *scratch) {
  return dp_cudnn_convolution_enqueue(&convolution, state, queue, in, out, scratch);
}

static bool columns_fit(const dp_kernel_spec *spec) {
  return dp_column_convolution_fits(spec, &convolution, &dp_columns_usual);
}
static uint64_t columns_bytes(const dp_kernel_spec *spec) {
  return dp_column_convolution_scratch_bytes(spec, &convolution, &dp_columns_usual);
}

static dp_status prepare_columns(const dp_kernel_spec *spec, void **state) {
  return dp_column_convolution_prepare(spec, &convolution, &dp_columns_usual, state);
}

static dp_status enqueue_columns(void *state, dp_queue *queue, const void *const *in, void *const *out, void *scratch) {
  return dp_column_convolution_enqueue(&convolution, state, queue, in, out, scratch);
}

static const dp_conv_way by_cudnn = {"cuDNN", prepare_cudnn, dp_cudnn_convolution_release, enqueue_cudnn},
                         by_columns = {"columns", prepare_columns, free, enqueue_columns};
static const dp_conv_ways ways = {&convolution, {&by_cudnn, &by_columns}, &by_cudnn, columns_fit, columns_bytes};

static uint64_t scratch_bytes(const dp_kernel_spec *spec) { return dp_conv_ways_scratch_bytes(spec, &ways); }

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return dp_conv_ways_prepare(spec, &ways, state); }

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)spec;
  return dp_conv_ways_enqueue(state, queue, in, out, scratch);
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
    .scratch_bytes = scratch_bytes,
    .shares_state = true,
    .expect = dp_conv_ways_expect,
    .prepare = prepare,
    .release = dp_conv_ways_release,
    .enqueue = enqueue,
};
