// What a plan says of the machine that it is for, held against the backend that is to run it.
#ifndef DP_RUNTIME_TARGET_H
#define DP_RUNTIME_TARGET_H

#include "ir/plan/plan.pb-c.h"
#include "runtime/base/backend.h"

// Restricts the backend's libraries to the plan's instruction set. EX_DATAERR: the plan names one although no kernel of
// it depends on any, or vice versa. EX_UNAVAILABLE: the plan is for another backend, or the machine lacks the set.
dp_status dp_target_hold(const Dp__Plan *plan, const dp_backend *backend) DP_MUST_USE;

#endif
