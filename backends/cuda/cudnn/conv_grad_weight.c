// dp.ConvGradWeight(x, dy): by cuDNN, or as a product of matrices by cuBLASLt (columns.h).
#include "backends/cuda/cudnn/ways.h"
#include "ir/kernel/extents.h"

static const dp_cudnn_convolution convolution = {DP_CUDNN_GRAD_WEIGHT, &dp_cuda_conv_grad_weight};
static const dp_conv_ways ways = {&convolution, &dp_conv_columns_sum, true};

static uint64_t scratch_bytes(const dp_kernel_spec *spec) { return dp_conv_ways_scratch_bytes(spec, &ways); }

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return dp_conv_ways_prepare(spec, &ways, state); }

const dp_kernel dp_kernel_cuda_cudnn_dp_ConvGradWeight = {
    .name = "cuda.cudnn.dp.ConvGradWeight",
    .op = "ConvGradWeight",
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
    .enqueue = dp_conv_ways_enqueue,
};
