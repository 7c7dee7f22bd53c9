// How a region is divided into launches, and where the values are that one launch leaves for another.
//
// Elementwise members that follow each other are one launch. Every other member is a launch of its own. Members that a
// launch makes along with its own are in none of these: an Add that the product before it makes (region_sum.h), and
// what stands around a normalization (region_normalization.h, region_batch.h) or its gradient (region_gradient.h). A
// convolution's launch has the members that follow it (region_convolution.h). Attention takes along what divides and
// joins its operands and gradients (region_attention.h). A Reshape's operand is put where its result goes if that is
// possible.
#ifndef DP_BACKENDS_CUDA_KERNELS_REGION_LAYOUT_H
#define DP_BACKENDS_CUDA_KERNELS_REGION_LAYOUT_H

#include "backends/cuda/kernels/region_attention.h"
#include "backends/cuda/kernels/region_batch.h"
#include "backends/cuda/kernels/region_convolution.h"
#include "backends/cuda/kernels/region_gradient.h"
#include "backends/cuda/kernels/region_normalization.h"
#include "backends/cuda/kernels/region_sum.h"

#ifdef __cplusplus
extern "C" {
#endif

// Members first .. end - 1.
typedef struct {
  int first, end;
  bool elementwise;
  dp_cuda_region_sum sum;  // what the product adds, whose result is then this launch's; add -1: nothing
  bool is_normalization;   // with what stands around it
  dp_cuda_region_normalization normalization;
  bool is_convolution;  // with what follows it
  dp_cuda_region_convolution convolution;
  bool is_gradient;  // of a normalization, with what stands around it
  dp_cuda_region_gradient gradient;
  bool is_batch;  // a batch normalization or its gradient, with what stands around it
  dp_cuda_region_batch batch;
  bool is_attention;  // with what its operands or gradients lie in
  dp_cuda_region_attention attention;
} dp_cuda_region_launch;

typedef struct {
  int n_launches;
  dp_cuda_region_launch *launches;  // (members) at most
  int32_t *homes;                   // (values) the value in whose memory it is: itself, or another
  uint64_t *inner;                  // (values) bytes from that value's begin to its own
  uint64_t *offsets;                // (values) in scratch, of those inside that are their own homes
  uint64_t bytes;                   // of scratch
} dp_cuda_region_layout;

// DP_EX_MEMORY. The caller frees it.
dp_status dp_cuda_region_layout_make(const dp_kernel_spec *region, dp_cuda_region_layout *layout) DP_MUST_USE;
void dp_cuda_region_layout_free(dp_cuda_region_layout *layout);

// Operands and results of a launch that is not elementwise, as values; -1: left out. in, out: (DP_MAX_OPERANDS)
void dp_cuda_region_launch_values(const dp_kernel_region *region, const dp_cuda_region_launch *launch, int32_t *in,
                                  int32_t *out);
// Marks the values that the launch leaves for others: results of the region, and operands of other launches.
// kept: (values)
void dp_cuda_region_kept(const dp_kernel_spec *region, const dp_cuda_region_launch *launch, bool *kept);

#ifdef __cplusplus
}
#endif
#endif
