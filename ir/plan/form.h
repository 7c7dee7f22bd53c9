// The form of a plan: everything that later code takes for granted when it follows an index, a name or an offset.
//
// What a plan does is ir/verify's matter; the logical graphs and attributes inside are checked where they are converted
// (ir/file/proto.h).
#ifndef DP_IR_PLAN_FORM_H
#define DP_IR_PLAN_FORM_H

#include "ir/plan/plan.pb-c.h"
#include "ir/plan/rule.h"

#ifdef __cplusplus
extern "C" {
#endif

// fault: may be NULL; set when it fails.
dp_status dp_plan_form_check(const Dp__Plan *plan, dp_fault *fault) DP_MUST_USE;

// Names in *fault the first instruction that has the tensor as operand or result, if any: a fault of the tensor is
// found there.
void dp_plan_form_user(dp_fault *fault, const Dp__Program *program, size_t tensor);

// The role's arena of a space; NULL: it has none.
const Dp__Arena *dp_plan_form_arena(const Dp__Role *role, Dp__Space space);

#ifdef __cplusplus
}
#endif
#endif
