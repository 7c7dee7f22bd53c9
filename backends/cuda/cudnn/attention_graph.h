// Attention and its gradient as graphs of cuDNN, in the form that its fused engines take: the one in which cuDNN's own
// front end writes them (the repository cudnn-frontend of NVIDIA), which all versions of cuDNN 9 know.
#ifndef DP_BACKENDS_CUDA_CUDNN_ATTENTION_GRAPH_H
#define DP_BACKENDS_CUDA_CUDNN_ATTENTION_GRAPH_H

#include "backends/base/attention_extents.h"
#include "backends/cuda/cudnn/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

// What one run of a graph computes: some samples, and some heads of them. ir/ops/scaled_dot_product.h has the layouts.
// All extents are above 0; size and v_size are multiples of 8.
typedef struct {
  bool gradient;
  dp_dtype dtype;  // of 16 bits
  int64_t batch, length, heads, size, keys, groups, v_size;
  int64_t all_heads;  // of Y, dY and LSE in memory
  // Elements from a row of Q, K, V in memory to the next; the same of dQ, dK, dV.
  int64_t rows[DP_ATTENTION_PARTS], gradient_rows[DP_ATTENTION_PARTS];
  int64_t mask_batch, mask_heads;  // extents of the mask, 1 or those above; 0: there is none
  int64_t mask_all_heads;          // of the mask in memory
  bool causal;                     // query i sees keys up to first + i; there is no mask then
  int64_t first;
  bool statistics;     // whether the forward graph gives LSE; the gradient takes it
  uint64_t workspace;  // bytes: engines that need more are passed over
} dp_cudnn_attention;

// The graph's operands and results, by their numbers. LSE is float32 [batch, heads, length]. The mask is float32 [batch
// or 1, heads or 1, length, keys] and is added; it has no infinities, whose sums with each other are NaN. THROUGH is
// room of LSE's kind, for the sums of dY Y. SCALE, ONE, HIDDEN (what scores become of keys that come later) are
// float32, FIRST is int32; they are in the host's memory. The graph has HIDDEN if it is causal, FIRST if that is not 0.
typedef enum {
  DP_CUDNN_Q = 1,
  DP_CUDNN_K,
  DP_CUDNN_V,
  DP_CUDNN_Y,
  DP_CUDNN_LSE,
  DP_CUDNN_MASK,
  DP_CUDNN_SCALE,
  DP_CUDNN_ONE,
  DP_CUDNN_HIDDEN,
  DP_CUDNN_FIRST,
  DP_CUDNN_DY,
  DP_CUDNN_DQ,
  DP_CUDNN_DK,
  DP_CUDNN_DV,
  DP_CUDNN_THROUGH,
  DP_CUDNN_ATTENTION_TENSORS
} dp_cudnn_attention_tensor;

// As dp_cudnn_plan_make. The gradient's graph has no sum in an order of its own: dQ is a product of a matrix that the
// engine keeps in its workspace, 2 bytes for each score, and not a sum of what blocks add to it as they end, of which
// cuDNN does not say that it is nondeterministic.
dp_status dp_cudnn_attention_plan(const dp_cudnn_calls *calls, cudnnHandle_t handle, cudnnBackendDescriptor_t device,
                                  const dp_cudnn_attention *attention, dp_cudnn_plan *plan, bool *found) DP_MUST_USE;

// The workspace that the engines of cuDNN 9.28 ask for, from sm_80 to sm_120, and a little more, before it is bounded.
uint64_t dp_cudnn_attention_workspace(const dp_cudnn_attention *attention);

#ifdef __cplusplus
}
#endif
#endif
