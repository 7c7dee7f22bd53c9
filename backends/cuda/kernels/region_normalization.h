// A normalization of rows and what stands around it as one launch: the sum of a residual and what was computed for it
// before, and a Cast to 16 bits behind. What is added may come in 16 bits by a Cast, and have a bias added before that.
// Its kernel keeps the rows in registers meanwhile, and rounds wherever the members do.
#ifndef DP_BACKENDS_CUDA_KERNELS_REGION_NORMALIZATION_H
#define DP_BACKENDS_CUDA_KERNELS_REGION_NORMALIZATION_H

#include "ir/kernel/member.h"

#ifdef __cplusplus
extern "C" {
#endif

// What its kernel is told beyond the operator's own operands and results: what is added to X, and the bias of X before
// that, which has X's type and one row; the sum.
enum { DP_CUDA_NORMALIZATION_OTHER = 3, DP_CUDA_NORMALIZATION_ROW, DP_CUDA_NORMALIZATION_INPUTS };
enum { DP_CUDA_NORMALIZATION_SUM = 3, DP_CUDA_NORMALIZATION_OUTPUTS };

// Members that the launch computes besides, and values of the region; -1: none.
typedef struct {
  int bias, before, add, after;  // the Add of a bias, the Cast of its result, the Add of the residual; the Cast behind
  int32_t x, other, row;         // operands, as the launch takes them
  int32_t sum, made;             // results, as it stores them
} dp_cuda_region_normalization;

// Whether member m is LayerNormalization or RMSNormalization without other results, some of these members are there,
// and its kernel can compute them along. Nothing but one member uses what each of them makes, except the sum, which
// later members and others may; and no member between them and m could overwrite what they read.
bool dp_cuda_region_normalization_of(const dp_kernel_spec *region, int m, dp_cuda_region_normalization *n);

// Operands and results of the launch as values; -1: left out. in: (DP_CUDA_NORMALIZATION_INPUTS), out:
// (DP_CUDA_NORMALIZATION_OUTPUTS)
void dp_cuda_region_normalization_values(const dp_kernel_region *region, int m, const dp_cuda_region_normalization *n,
                                         int32_t *in, int32_t *out);

// What its kernel is told of them.
void dp_cuda_region_normalization_spec(const dp_kernel_region *region, int m, const dp_cuda_region_normalization *n,
                                       dp_member_spec *made);

#ifdef __cplusplus
}
#endif
#endif
