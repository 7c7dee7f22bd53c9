// The kernels that compute a region's members one by one.
#ifndef DP_BACKENDS_CPU_MEMBER_H
#define DP_BACKENDS_CPU_MEMBER_H

#include "ir/kernel/member.h"

#ifdef __cplusplus
extern "C" {
#endif

// The kernel that computes the member: of the reference's, for all types. NULL: none.
const dp_kernel *dp_member_kernel(const dp_member_spec *spec);

// A kernel that can compute any part of the member, of any extents, without scratch or memory of its own: `fast` lets
// it depend on the instruction set. NULL: none.
const dp_kernel *dp_member_kernel_of_parts(const dp_member_spec *spec, bool fast);
// The same for a member that works on rows. Where only wider types have such a kernel (widened.h), *wide is the member
// in these, which the kernel computes; where the member's own types have one, wide->spec.op is NULL.
const dp_kernel *dp_member_kernel_of_rows(const dp_member_spec *spec, bool fast, dp_member_spec *wide);
// Whether some member has such a kernel that depends on the instruction set.
bool dp_members_have_fast_kernels(const dp_kernel_spec *region);

#ifdef __cplusplus
}
#endif
#endif
