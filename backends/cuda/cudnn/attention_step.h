// What kernels of attention by cuDNN do: what is left to our own functions, how the scratch is divided, and the plan.
#ifndef DP_BACKENDS_CUDA_CUDNN_ATTENTION_STEP_H
#define DP_BACKENDS_CUDA_CUDNN_ATTENTION_STEP_H

#include "backends/base/attention_extents.h"
#include "backends/cuda/cudnn/attention_graph.h"
#include "backends/cuda/gpu/function.h"

#ifdef __cplusplus
extern "C" {
#endif

// Both kernels of cuDNN.
extern const dp_kernel dp_kernel_cuda_cudnn_ScaledDotProductAttention,
    dp_kernel_cuda_cudnn_ScaledDotProductAttentionGrad;

typedef struct {
  bool gradient;
  int q, mask;           // the first operand of Q, K, V, and the mask
  const dp_kernel *own;  // of our own functions: the same operator
} dp_cudnn_attention_kind;

// Bytes from the scratch's begin.
typedef struct {
  uint64_t mask, statistics, through, workspace, workspace_bytes, end;
} dp_cudnn_attention_room;

typedef struct {
  const dp_cudnn_attention_kind *kind;
  dp_attention e;
  void *own;  // the state of our own functions, if `planned` is false
  bool planned;
  dp_cudnn_attention part;  // what one run of the plan computes; the whole is computed part by part
  dp_cudnn_plan plan;
  dp_cudnn_attention_room room;
  const dp_cuda_function *make_mask, *mend_rows, *make_statistics;  // NULL: it is not needed
} dp_cudnn_attention_step;

extern const dp_cudnn_attention_kind dp_cudnn_attention_forward, dp_cudnn_attention_backward;

// Types, sizes, masks and attributes. The rest is known when extents are, and left to our own functions then.
bool dp_cudnn_attention_match(const dp_kernel_spec *spec, const dp_cudnn_attention_kind *kind);
uint64_t dp_cudnn_attention_scratch_bytes(const dp_kernel_spec *spec, const dp_cudnn_attention_kind *kind);
// *state is a dp_cudnn_attention_step.
dp_status dp_cudnn_attention_prepare(const dp_kernel_spec *spec, const dp_cudnn_attention_kind *kind,
                                     void **state) DP_MUST_USE;
void dp_cudnn_attention_release(void *state);

// The functions of our own that one of these kernels launches beside the plan; nothing for any other kernel.
dp_status dp_cudnn_attention_add_functions(const dp_kernel *kernel, const dp_kernel_spec *spec) DP_MUST_USE;

// The mask in scratch, where there is one.
dp_status dp_cudnn_attention_put_mask(const dp_cudnn_attention_step *step, dp_queue *queue, const void *mask,
                                      void *scratch) DP_MUST_USE;
// Runs the plan for each part. data: by tensor, the whole ones; NULL: it is none of the graph's, or this fills it in.
dp_status dp_cudnn_attention_run(const dp_cudnn_attention_step *step, dp_queue *queue,
                                 const void *const data[DP_CUDNN_ATTENTION_TENSORS], void *scratch) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
