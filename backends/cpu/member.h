// The kernels that compute a region's members one by one.
#ifndef DP_BACKENDS_CPU_MEMBER_H
#define DP_BACKENDS_CPU_MEMBER_H

#include "ir/kernel/member.h"

#ifdef __cplusplus
extern "C" {
#endif

// The kernel that computes the member: of the reference's, for all types. NULL: none.
const dp_kernel *dp_member_kernel(const dp_member_spec *spec);

#ifdef __cplusplus
}
#endif
#endif
