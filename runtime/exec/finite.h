// --check-nan: runs a node and looks at the numbers before and after, to find the first one that makes NaN or Inf.
// Private to the runtime.
#ifndef DP_RUNTIME_EXEC_FINITE_H
#define DP_RUNTIME_EXEC_FINITE_H

#include "runtime/exec/program.h"

#ifdef __cplusplus
extern "C" {
#endif

// The ranges of a unit's operands, as they were before it ran.
typedef struct dp_finite dp_finite;

// Looks at the operands of a unit that computes a node. DP_EX_MEMORY; EX_UNAVAILABLE: the device has failed.
dp_status dp_finite_begin(const dp_bound *bound, const dp_unit *unit, dp_finite **before) DP_MUST_USE;
// Looks at the results and frees `before`. EX_DATAERR: there is a NaN, or an Inf though no operand has any. What a
// node makes without operands, such as the constant -Inf of a mask, or of an empty shard, is what it was meant to.
dp_status dp_finite_end(const dp_bound *bound, const dp_unit *unit, dp_finite *before) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
