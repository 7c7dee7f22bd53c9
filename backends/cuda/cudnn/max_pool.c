// MaxPool by cuDNN, where nobody asks for indices.
#include "backends/cuda/cudnn/pooling.h"
#include "backends/cuda/windows/pool.h"
#include "ir/kernel/extents.h"

static const dp_cudnn_pooling pooling = {DP_CUDNN_MAXIMUM, &dp_kernel_cuda_MaxPool};

static bool match(const dp_kernel_spec *spec) { return !dp_has_out(spec, 1); }

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_cudnn_pooling_prepare(spec, &pooling, state);
}

const dp_kernel dp_kernel_cuda_cudnn_MaxPool = {
    .name = "cuda.cudnn.MaxPool",
    .op = "MaxPool",
    .domain = "",
    .priority = 10,
    .library = true,
    .types = DP_WINDOWS_TYPES,
    .match = match,
    .shares_state = true,
    .expect = dp_cudnn_expect,
    .prepare = prepare,
    .release = dp_cudnn_pooling_release,
    .enqueue = dp_cudnn_pooling_enqueue,
};
