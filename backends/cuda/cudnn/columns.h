// The gradient of a convolution's weights as a product of matrices by cuBLASLt: dw (M, C x taps) = dy (M, windows) by
// the transpose of the columns of x (C x taps, windows), windows of all samples. The columns, and dy in that order, are
// made in scratch, for a chunk of samples at a time. Where results are few, parts of the sum are a batch of products,
// and these are added in a fixed order.
//
// In float32, cuDNN's engines that give the same bits in every run do not use the GPU well: on an H200, its
// wgrad_alg1_engine reached a fourth of the peak of products for 64 to 128 channels of 28 x 28. Columns cost the time
// to write and read them, and products reach most of the peak.
#ifndef DP_BACKENDS_CUDA_CUDNN_COLUMNS_H
#define DP_BACKENDS_CUDA_CUDNN_COLUMNS_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// What is computed so: convolutions in float32, of one group, with samples along the first dim alone, of at least so
// many channels of y, so that a column is used often, and so much work, which is worth several launches.
typedef struct {
  int64_t channels, flops;
  int64_t chunk_bytes;  // of columns and dy that a chunk of samples has at the most
} dp_columns_limits;
extern const dp_columns_limits dp_columns_usual;

// Whether the gradient is within the limits. Not where operands may be rounded to TF32: engines for it are faster.
bool dp_columns_fit(const dp_kernel_spec *spec, const dp_columns_limits *limits);
// dp_kernel.scratch_bytes: enough for every smaller part, with any number of samples. 0: none of these fits.
uint64_t dp_columns_scratch_bytes(const dp_kernel_spec *spec, const dp_columns_limits *limits);
// What this part takes of it, if it fits.
uint64_t dp_columns_needed_bytes(const dp_kernel_spec *spec, const dp_columns_limits *limits);
// For a gradient that fits. free releases the state. *state NULL: cuBLASLt has no algorithm.
dp_status dp_columns_prepare(const dp_kernel_spec *spec, const dp_columns_limits *limits, void **state) DP_MUST_USE;
dp_status dp_columns_enqueue(void *state, dp_queue *queue, const void *x, const void *dy, void *dw,
                             void *scratch) DP_MUST_USE;
extern const dp_kernel dp_kernel_cuda_cudnn_dp_ConvGradWeight;
// The functions of our own that this kernel launches beside products; nothing for any other kernel.
dp_status dp_columns_add_functions(const dp_kernel *kernel, const dp_kernel_spec *spec) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
