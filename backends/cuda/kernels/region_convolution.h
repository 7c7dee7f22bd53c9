// A convolution with a bias and what follows it as one launch: the sum with another tensor, Relu of what comes out, or
// both. A library's kernel computes them together if it has an engine for that on the GPU at hand. Where it has none,
// the convolution is a launch of its own, and what follows is a run of elementwise members over its result, in place.
#ifndef DP_BACKENDS_CUDA_KERNELS_REGION_CONVOLUTION_H
#define DP_BACKENDS_CUDA_KERNELS_REGION_CONVOLUTION_H

#include "ir/kernel/member.h"

#ifdef __cplusplus
extern "C" {
#endif

// What its kernel is told beyond the operator's own operands: what is added to Y. Relu is dp_kernel_spec.then.
enum { DP_CUDA_CONVOLUTION_RESIDUAL = 3, DP_CUDA_CONVOLUTION_INPUTS };

// The members right behind the convolution that the launch computes besides, and values of the region; -1: none.
typedef struct {
  int add, relu;
  int32_t residual, made;  // made: what the last of them makes
} dp_cuda_region_convolution;

// Whether member m is a Conv of float32 or 16 bits with a bias, and some of these members follow right behind, which
// alone use what comes before them, have its extents, and lie as it does.
bool dp_cuda_region_convolution_of(const dp_kernel_spec *region, int m, dp_cuda_region_convolution *c);

// One past the last member of the launch.
int dp_cuda_region_convolution_end(int m, const dp_cuda_region_convolution *c);

// Operands and results of the launch as values; -1: left out. in, out: (DP_MAX_OPERANDS)
void dp_cuda_region_convolution_values(const dp_kernel_region *region, int m, const dp_cuda_region_convolution *c,
                                       int32_t *in, int32_t *out);

// What its kernel is told of them.
void dp_cuda_region_convolution_spec(const dp_kernel_region *region, int m, const dp_cuda_region_convolution *c,
                                     dp_member_spec *made);

#ifdef __cplusplus
}
#endif
#endif
