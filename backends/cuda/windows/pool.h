// Pooling and its gradients by functions of our own, a thread for each element of the result. Gradients are sums over
// the windows that cover an element, in their order, so that they give the CPU's bits.
//
// cuDNN is not used: its windows have no dilation and no ceil_mode, its maxima no indices in ONNX's sense, and its
// gradients add in the order of arrival.
#ifndef DP_BACKENDS_CUDA_WINDOWS_POOL_H
#define DP_BACKENDS_CUDA_WINDOWS_POOL_H

#include "backends/cuda/windows/window.h"

typedef struct {
  const char *name, *source;  // of the function
  int x, dy;                  // operands; -1: the operator has none. Without x, the result has its extents.
} dp_cuda_pool;

dp_status dp_cuda_pool_prepare(const dp_kernel_spec *spec, const dp_cuda_pool *pool, void **state) DP_MUST_USE;
dp_status dp_cuda_pool_enqueue(const dp_cuda_pool *pool, const dp_kernel_spec *spec, void *state, dp_queue *queue,
                               const void *const *in, void *const *out) DP_MUST_USE;

#endif
