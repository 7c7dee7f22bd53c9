// What the kernel of regions is made of, for those who compile functions beforehand.
#ifndef DP_BACKENDS_CUDA_KERNELS_REGION_H
#define DP_BACKENDS_CUDA_KERNELS_REGION_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const dp_kernel dp_kernel_cuda_Region, dp_kernel_cuda_head_Region;

// Adds the functions of the region's elementwise launches (backends/cuda/gpu/function.h), and calls `add` for the
// kernel of every other launch, with what it will be told. It needs no GPU unless `add` does. It ends at a failure.
dp_status dp_cuda_region_add(const dp_kernel_spec *region,
                             dp_status (*add)(const dp_kernel *kernel, const dp_kernel_spec *spec)) DP_MUST_USE;
// The fewest rows of a chunk of a head (backends/base/head.h).
enum { DP_CUDA_HEAD_ROWS = 2048 };
// The same as dp_cuda_region_add for a head.
dp_status dp_cuda_head_add(const dp_kernel_spec *region,
                           dp_status (*add)(const dp_kernel *kernel, const dp_kernel_spec *spec)) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
