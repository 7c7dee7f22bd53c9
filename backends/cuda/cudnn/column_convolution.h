// A convolution, or the gradient of its operand, as products of matrices by cuBLASLt: the weights (M, C x taps) by the
// columns (C x taps, windows) of each sample are its y (M, windows), in place. The columns are made in scratch, for a
// chunk of samples at a time, which are a batch. The gradient is such a convolution too: of dy, with weights that are
// turned.
#ifndef DP_BACKENDS_CUDA_CUDNN_COLUMN_CONVOLUTION_H
#define DP_BACKENDS_CUDA_CUDNN_COLUMN_CONVOLUTION_H

#include "backends/cuda/cudnn/columns.h"
#include "backends/cuda/cudnn/convolution.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const dp_kernel dp_kernel_cuda_cudnn_Conv, dp_kernel_cuda_cudnn_dp_ConvGradInput;

// Whether the convolution, or the gradient, is within the limits (columns.h), with planes of y of 64 elements or more,
// and a multiple of 4; a gradient: of windows that lie side by side. Not where operands may be rounded to TF32, nor
// where samples are not divided evenly into chunks that are large enough.
bool dp_column_convolution_fits(const dp_kernel_spec *spec, const dp_cudnn_convolution *c,
                                const dp_columns_limits *limits);
// dp_kernel.scratch_bytes: enough for every smaller part, with any number of samples. 0: none of these fits.
uint64_t dp_column_convolution_scratch_bytes(const dp_kernel_spec *spec, const dp_cudnn_convolution *c,
                                             const dp_columns_limits *limits);
// What this part takes of it, if it fits.
uint64_t dp_column_convolution_needed_bytes(const dp_kernel_spec *spec, const dp_cudnn_convolution *c,
                                            const dp_columns_limits *limits);
// For what fits. free releases the state. *state NULL: cuBLASLt has no algorithm.
dp_status dp_column_convolution_prepare(const dp_kernel_spec *spec, const dp_cudnn_convolution *c,
                                        const dp_columns_limits *limits, void **state) DP_MUST_USE;
dp_status dp_column_convolution_enqueue(const dp_cudnn_convolution *c, void *state, dp_queue *queue,
                                        const void *const *in, void *const *out, void *scratch) DP_MUST_USE;
// The functions of our own that such a kernel launches beside products; nothing for any other kernel.
dp_status dp_column_convolution_add_functions(const dp_kernel *kernel, const dp_kernel_spec *spec) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
