// Attention that reads queries, keys and values where one tensor has them, and leaves their gradients where one tensor
// is to have them: the Split before it, the Concat behind its gradient, and the Reshapes in between move nothing. What
// they would make are parts of rows, at places of their own in the whole row (dp_kernel_spec.pitches).
#ifndef DP_BACKENDS_CUDA_KERNELS_REGION_ATTENTION_H
#define DP_BACKENDS_CUDA_KERNELS_REGION_ATTENTION_H

#include "ir/kernel/member.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_CUDA_ATTENTION_PARTS = 3 };  // Q, K, V

// One of Q, K, V or of their gradients, and what it is before or behind its Reshapes: where all of these are.
typedef struct {
  int n_views;
  int views[DP_PROJECTION_VIEWS];           // members
  int32_t values[DP_PROJECTION_VIEWS + 1];  // one more than views
  int64_t start;                            // elements, in a row of the whole
} dp_cuda_attention_part;

// What the parts lie in. member: the Split or Concat; -1: they lie in nothing, and what follows is undefined.
typedef struct {
  int member;
  int32_t whole;  // an operand of the region, or a result
  int64_t pitch;  // elements from one row of it to the next
  dp_cuda_attention_part parts[DP_CUDA_ATTENTION_PARTS];
} dp_cuda_attention_whole;

typedef struct {
  dp_cuda_attention_whole operands, gradients;
  int64_t pitches[2 * DP_MAX_OPERANDS];  // for its kernel
} dp_cuda_region_attention;

// Whether member m is attention or its gradient, and operands or gradients of it are parts of a whole: three, which
// nothing else uses, and which make rows of the same extents for every number of samples.
bool dp_cuda_region_attention_of(const dp_kernel_spec *region, int m, dp_cuda_region_attention *a);

#ifdef __cplusplus
}
#endif
#endif
