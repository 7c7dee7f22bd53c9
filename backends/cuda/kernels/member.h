// The kernels that compute a region's members one by one.
#ifndef DP_BACKENDS_CUDA_KERNELS_MEMBER_H
#define DP_BACKENDS_CUDA_KERNELS_MEMBER_H

#include "ir/kernel/member.h"

#ifdef __cplusplus
extern "C" {
#endif

// The backend's kernels. Ends with NULL; made by the build.
extern const dp_kernel *const dp_cuda_kernels[];

// The kernel that computes the member; NULL: none.
static inline const dp_kernel *dp_cuda_member_kernel(const dp_member_spec *spec) {
  const dp_target kernels = {.kernels = dp_cuda_kernels};
  return dp_kernel_select(&kernels, &spec->spec, false);
}

#ifdef __cplusplus
}
#endif
#endif
