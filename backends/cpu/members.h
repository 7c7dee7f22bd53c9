// The members of a region one after another, each on whole operands: values inside the region are in scratch.
#ifndef DP_BACKENDS_CPU_MEMBERS_H
#define DP_BACKENDS_CPU_MEMBERS_H

#include "ir/kernel/member.h"

#ifdef __cplusplus
extern "C" {
#endif

// The kernel that computes a member; NULL: none.
typedef const dp_kernel *dp_members_choose(const dp_member_spec *member);

// What a value takes of scratch; 0 if it is absent.
uint64_t dp_members_bytes_of(const dp_kernel_operand *value);
// Whether every member has a kernel.
bool dp_members_match(const dp_kernel_spec *region, dp_members_choose *choose);
uint64_t dp_members_scratch_bytes(const dp_kernel_spec *region, dp_members_choose *choose);
// *members: NULL on failure. The region's description must live as long.
dp_status dp_members_prepare(const dp_kernel_spec *region, dp_members_choose *choose, void **members) DP_MUST_USE;
void dp_members_release(void *members);  // NULL is allowed
// One thread at a time may run them.
dp_status dp_members_run(const dp_kernel_spec *region, void *members, const void *const *in, void *const *out,
                         void *scratch) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
