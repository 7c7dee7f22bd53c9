// Pooling by cuDNN: maxima without indices, and means.
//
// Gradients are not among them. Of maxima, NVIDIA's documentation calls cuDNN's nondeterministic (cudnnPoolingBackward,
// CUDNN_POOLING_MAX), its graphs have no mode that is deterministic, and which of equal elements gets the gradient is
// said nowhere. Of means, cuDNN makes a plan, but on an H200 executing it gave CUDNN_STATUS_BAD_PARAM for all windows.
// Indices are not either: cuDNN's are of 8 bits, within the window.
#ifndef DP_BACKENDS_CUDA_CUDNN_POOLING_H
#define DP_BACKENDS_CUDA_CUDNN_POOLING_H

#include "backends/cuda/cudnn/plan.h"
#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { DP_CUDNN_MAXIMUM, DP_CUDNN_MEAN } dp_cudnn_pool_kind;

// Dense tensors x (N, C, ...) and y (N, C, ...). All extents > 0. Every window has an element of x.
typedef struct {
  dp_cudnn_pool_kind kind;
  dp_dtype dtype;  // a float; 16 bits are summed in float32
  bool counts;     // padding counts in a mean
  int spatial;     // 2 or 3
  int64_t x[5], y[5], window[3], stride[3], pre[3], post[3];
} dp_cudnn_pool;

// As dp_cudnn_plan_make. Its engines take no workspace.
dp_status dp_cudnn_pool_plan(const dp_cudnn_calls *calls, cudnnHandle_t handle, cudnnBackendDescriptor_t device,
                             const dp_cudnn_pool *pool, dp_cudnn_plan *plan, bool *found) DP_MUST_USE;

// A kernel of x, operand 0, and y, result 0.
typedef struct {
  dp_cudnn_pool_kind kind;
  const dp_kernel *own;  // of our own functions, for what no engine does, or not with the operator's meaning
} dp_cudnn_pooling;

dp_status dp_cudnn_pooling_prepare(const dp_kernel_spec *spec, const dp_cudnn_pooling *pooling,
                                   void **state) DP_MUST_USE;
// As a kernel's; state is what dp_cudnn_pooling_prepare made.
void dp_cudnn_pooling_release(void *state);
dp_status dp_cudnn_pooling_enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                   void *const *out, void *scratch) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
