// Pooling and its gradients by functions of our own: a thread for each element of the result, or a block for each tile
// of it. Gradients are sums over the windows that cover an element, in their order, so that they give the CPU's bits.
// Extents and windows are constants of a function's text: a network has few kinds of them.
#ifndef DP_BACKENDS_CUDA_WINDOWS_POOL_H
#define DP_BACKENDS_CUDA_WINDOWS_POOL_H

#include "backends/cuda/windows/window.h"

typedef struct {
  const char *name, *source;  // of the function
  const char *tiles;          // of the one that computes tiles, where they can be; NULL: there is none
  // Of those that compute vectors, where they can be, of channels in NHWC and of rows of plain x; NULL: there is none.
  const char *rows, *columns;
  int x, dy;  // operands; -1: the operator has none. Without x, the result has its extents.
} dp_cuda_pool;

dp_status dp_cuda_pool_prepare(const dp_kernel_spec *spec, const dp_cuda_pool *pool, void **state) DP_MUST_USE;
dp_status dp_cuda_pool_enqueue(const dp_cuda_pool *pool, const dp_kernel_spec *spec, void *state, dp_queue *queue,
                               const void *const *in, void *const *out) DP_MUST_USE;

#endif
