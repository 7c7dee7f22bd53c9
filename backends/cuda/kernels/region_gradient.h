// The gradient of a normalization and what stands around it as one launch: a Cast of dY from 16 bits before it, an Add
// of another gradient to dX behind it, and a Cast to 16 bits of what comes out. Its kernel reads and stores as these
// do, and keeps the rows in registers meanwhile.
#ifndef DP_BACKENDS_CUDA_KERNELS_REGION_GRADIENT_H
#define DP_BACKENDS_CUDA_KERNELS_REGION_GRADIENT_H

#include "ir/kernel/member.h"

#ifdef __cplusplus
extern "C" {
#endif

// What its kernel is told beyond the operator's own operands and results.
enum { DP_CUDA_GRADIENT_OTHER = 3, DP_CUDA_GRADIENT_INPUTS = 4 };    // the gradient that is added to dX
enum { DP_CUDA_GRADIENT_NARROW = 3, DP_CUDA_GRADIENT_OUTPUTS = 4 };  // the sum, or dX, in 16 bits

// Members that the launch computes besides, and values of the region; -1: none.
typedef struct {
  int before, add, after;  // the Cast of dY, the Add, the Cast of its result
  int32_t dy, other;       // operands, as the launch takes them
  int32_t made, narrow;    // results, as it stores them
} dp_cuda_region_gradient;

// Whether member m is such a gradient, some of these members are there, and its kernel can compute them along. Nothing
// but the gradient uses what is cast for it, nothing but the Add uses dX, and what is added is the region's operand.
bool dp_cuda_region_gradient_of(const dp_kernel_spec *region, int m, dp_cuda_region_gradient *g);

// Operands and results of the launch as values; -1: left out. in: (DP_CUDA_GRADIENT_INPUTS), out:
// (DP_CUDA_GRADIENT_OUTPUTS)
void dp_cuda_region_gradient_values(const dp_kernel_region *region, int m, const dp_cuda_region_gradient *g,
                                    int32_t *in, int32_t *out);

// What its kernel is told of them.
void dp_cuda_region_gradient_spec(const dp_kernel_region *region, int m, const dp_cuda_region_gradient *g,
                                  dp_member_spec *made);

#ifdef __cplusplus
}
#endif
#endif
