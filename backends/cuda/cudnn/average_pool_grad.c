// dp.AveragePoolGrad by cuDNN.
#include "backends/cuda/cudnn/pooling.h"
#include "backends/cuda/windows/pool.h"

static const dp_cudnn_pooling pooling = {DP_CUDNN_MEAN_GRADIENT, &dp_kernel_cuda_dp_AveragePoolGrad};

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_cudnn_pooling_prepare(spec, &pooling, state);
}

const dp_kernel dp_kernel_cuda_cudnn_AveragePoolGrad = {
    .name = "cuda.cudnn.dp.AveragePoolGrad",
    .op = "AveragePoolGrad",
    .domain = "dp",
    .priority = 10,
    .library = true,
    .types = DP_WINDOWS_TYPES,
    .shares_state = true,
    .expect = dp_cudnn_expect,
    .prepare = prepare,
    .release = dp_cudnn_pooling_release,
    .enqueue = dp_cudnn_pooling_enqueue,
};
