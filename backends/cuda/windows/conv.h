// Convolution and its gradients by functions of our own: any attributes, float32 and float64, a thread for each element
// of the result. Libraries are faster; this is what they are tested against, and what does what they do not take.
#ifndef DP_BACKENDS_CUDA_WINDOWS_CONV_H
#define DP_BACKENDS_CUDA_WINDOWS_CONV_H

#include "backends/base/conv_extents.h"
#include "backends/cuda/windows/window.h"

#ifdef __cplusplus
extern "C" {
#endif

// Which operand is what; DP_CONV_OUT: the result.
enum { DP_CONV_OUT = -1 };
typedef struct {
  const char *name, *source;  // of the function
  int x, w, y, bias;          // bias: DP_CONV_OUT if the operator has none
} dp_cuda_conv;
extern const dp_cuda_conv dp_cuda_conv_forward, dp_cuda_conv_grad_input, dp_cuda_conv_grad_weight;

// EX_DATAERR: the channels are not whole groups.
dp_status dp_cuda_conv_extents(const dp_kernel_spec *spec, const dp_cuda_conv *conv, dp_conv *extents) DP_MUST_USE;
bool dp_cuda_conv_has_bias(const dp_kernel_spec *spec, const dp_cuda_conv *conv);

// The state is released by free.
dp_status dp_cuda_conv_prepare(const dp_kernel_spec *spec, const dp_cuda_conv *conv, void **state) DP_MUST_USE;
dp_status dp_cuda_conv_enqueue(const dp_cuda_conv *conv, void *state, dp_queue *queue, const void *const *in,
                               void *const *out) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
