// The members of a region as calls of the kernels that compute them one by one.
#ifndef DP_BACKENDS_CPU_MEMBER_H
#define DP_BACKENDS_CPU_MEMBER_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a member's kernel is told, with the operands that its spec points at: it stays where it is made.
typedef struct {
  dp_kernel_spec spec;
  dp_kernel_operand inputs[DP_MAX_OPERANDS], outputs[DP_MAX_OPERANDS];
} dp_member_spec;

// values: the region's, whole or a chunk of each.
void dp_member_spec_make(const dp_kernel_spec *region, int member, const dp_kernel_operand *values,
                         dp_member_spec *made);
// The kernel that computes it: of the reference's, for all types. NULL: none.
const dp_kernel *dp_member_kernel(const dp_member_spec *spec);
// Sets the member's operands and results from the addresses of the region's values. in, out: (DP_MAX_OPERANDS)
void dp_member_operands(const dp_kernel_member *member, void *const *values, const void **in, void **out);

#ifdef __cplusplus
}
#endif
#endif
