// Batch normalization, its gradient, and what stands around them, as launches of the normalization: behind it the sum
// with another tensor, Relu, or both; before its gradient the gradient of Relu, and the sum of two gradients before
// that. Its kernels round wherever the members do.
#ifndef DP_BACKENDS_CUDA_KERNELS_REGION_BATCH_H
#define DP_BACKENDS_CUDA_KERNELS_REGION_BATCH_H

#include "ir/kernel/member.h"

#ifdef __cplusplus
extern "C" {
#endif

// What kernels are told beyond the operators' own operands and results: what is added to Y or dY; of a gradient, Relu's
// result, and what Relu's gradient makes if something else needs it. Relu behind is dp_kernel_spec.then.
enum { DP_CUDA_BATCH_OTHER = 5, DP_CUDA_BATCH_Z };
enum { DP_CUDA_BATCH_GIVEN = 3 };

// Members that the launch computes besides, right behind the normalization or right before its gradient, and values of
// the region; -1: none.
typedef struct {
  int add, relu;
  int32_t dy, other, z;  // operands, as the launch takes them
  int32_t made, given;   // results, as it stores them
} dp_cuda_region_batch;

// Whether member m is such a normalization or gradient, some of these members are there, and its kernel can compute
// them along. All values have one type and lie alike. What they pass to each other nothing else uses, but what Relu's
// gradient makes.
bool dp_cuda_region_batch_of(const dp_kernel_spec *region, int m, dp_cuda_region_batch *b);

// Operands and results of the launch as values; -1: left out. in, out: (DP_MAX_OPERANDS)
void dp_cuda_region_batch_values(const dp_kernel_region *region, int m, const dp_cuda_region_batch *b, int32_t *in,
                                 int32_t *out);

// What its kernel is told of them.
void dp_cuda_region_batch_spec(const dp_kernel_region *region, int m, const dp_cuda_region_batch *b,
                               dp_member_spec *made);

#ifdef __cplusplus
}
#endif
#endif
