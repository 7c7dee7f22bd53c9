// A normalization and the Cast to 16 bits that follows it as one launch, whose kernel rounds before it stores.
#ifndef DP_BACKENDS_CUDA_KERNELS_REGION_CAST_H
#define DP_BACKENDS_CUDA_KERNELS_REGION_CAST_H

#include "ir/kernel/member.h"

#ifdef __cplusplus
extern "C" {
#endif

// The member that casts what member m makes, where m is a normalization without other results, nothing else uses what
// it makes, and its kernel can store it as the Cast would; -1: none.
int dp_cuda_region_cast_of(const dp_kernel_spec *region, int m);

// Member m with the Cast's result in the place of its own.
void dp_cuda_region_cast_spec(const dp_kernel_spec *region, int m, int cast, dp_member_spec *made);

#ifdef __cplusplus
}
#endif
#endif
