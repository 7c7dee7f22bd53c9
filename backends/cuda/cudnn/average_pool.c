// AveragePool by cuDNN.
#include "backends/cuda/cudnn/pooling.h"
#include "backends/cuda/windows/pool.h"

static const dp_cudnn_pooling pooling = {DP_CUDNN_MEAN, &dp_kernel_cuda_AveragePool};

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_cudnn_pooling_prepare(spec, &pooling, state);
}

const dp_kernel dp_kernel_cuda_cudnn_AveragePool = {
    .name = "cuda.cudnn.AveragePool",
    .op = "AveragePool",
    .domain = "",
    .priority = 10,
    .library = true,
    .types = DP_WINDOWS_TYPES,
    .shares_state = true,
    .expect = dp_cudnn_expect,
    .prepare = prepare,
    .release = dp_cudnn_pooling_release,
    .enqueue = dp_cudnn_pooling_enqueue,
};
