// A product and the Add that follows it as one Gemm, whose kernels add the bias, or the residual, before they store.
#ifndef DP_BACKENDS_CUDA_KERNELS_REGION_SUM_H
#define DP_BACKENDS_CUDA_KERNELS_REGION_SUM_H

#include "ir/kernel/member.h"

#ifdef __cplusplus
extern "C" {
#endif

// Whether the extents are equal for every number of samples and on every device, not only here. What a region is
// divided into must depend on nothing else: scratch is planned for the largest part, and must do for all.
bool dp_cuda_region_same_extents(const dp_local *a, const dp_local *b);
// The same of two values.
static inline bool dp_cuda_region_alike(const dp_kernel_region *r, int32_t a, int32_t b) {
  return dp_cuda_region_same_extents(&r->values[a].local, &r->values[b].local);
}

// Whether the value has a float type of 16 bits.
static inline bool dp_cuda_region_is_half(const dp_kernel_region *r, int32_t value) {
  return r->values[value].dtype == DP_FLOAT16 || r->values[value].dtype == DP_BFLOAT16;
}

// Whether `row` is a row of x, which is broadcast along its other dims.
bool dp_cuda_region_is_row_of(const dp_local *row, const dp_local *x);

typedef struct {
  int add;          // the member
  int32_t operand;  // the value that it adds: an operand of the region
} dp_cuda_region_sum;

// Whether member m is a product of two matrices, MatMul or Gemm without C, to which a member adds a row or a matrix of
// the same extents, and which nothing else uses. A Reshape may stand in between.
bool dp_cuda_region_sum_of(const dp_kernel_spec *region, int m, dp_cuda_region_sum *sum);

// The Gemm with operands A and B of the product, C of the sum, and the sum's result.
void dp_cuda_region_sum_spec(const dp_kernel_spec *region, int m, const dp_cuda_region_sum *sum, dp_member_spec *gemm);

// The member that alone uses the value, once, where the value is inside the region; -1: none.
int dp_cuda_region_user(const dp_kernel_spec *region, int32_t value);

#ifdef __cplusplus
}
#endif
#endif
