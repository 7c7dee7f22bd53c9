// The members of a region as nodes of their own: what the kernels that compute them one by one are told.
#ifndef DP_IR_KERNEL_MEMBER_H
#define DP_IR_KERNEL_MEMBER_H

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
void dp_member_spec_make(const dp_kernel_region *region, int member, const dp_kernel_operand *values,
                         dp_member_spec *made);
// A copy with room for its own operands and results alone, which a region may have many of: free() gives it back. NULL:
// out of memory.
dp_kernel_spec *dp_member_spec_keep(const dp_kernel_spec *made);
// Sets the member's operands and results from the addresses of the region's values. in, out: (DP_MAX_OPERANDS)
void dp_member_operands(const dp_kernel_member *member, void *const *values, const void **in, void **out);
// Whether its operator is ONNX's of that name.
bool dp_member_is_named(const dp_kernel_member *member, const char *name);
// Whether it is a Cast.
bool dp_member_is_cast(const dp_kernel_member *member);
// Of a region of updates, and of Casts of their gradients: whether each update takes operands of the region alone, or
// what a Cast makes, and makes results of the region alone, and reads alone, and once, what it replaces. Updates, each
// with its Cast before it, may then be computed in any order, also part by part.
bool dp_members_are_independent(const dp_kernel_spec *region);

#ifdef __cplusplus
}
#endif
#endif
