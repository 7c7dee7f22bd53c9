// What an instruction costs one device, at one n.
#ifndef DP_IR_KERNEL_COST_H
#define DP_IR_KERNEL_COST_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// Operations and bytes by the operators' own figures (dp_op.cost), at the extents that the device has of each value. A
// region does what all its members do, and reads and writes its operands and results alone. Allocates in `arena`.
dp_cost dp_kernel_cost(dp_arena *arena, const dp_kernel_spec *spec);

#ifdef __cplusplus
}
#endif
#endif
