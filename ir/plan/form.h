// The form of a plan: what later code relies on when it follows an index, a name or an offset.
//
// ir/verify checks what a plan does. The embedded graphs and attributes are checked when they are converted
// (ir/file/proto.h).
#ifndef DP_IR_PLAN_FORM_H
#define DP_IR_PLAN_FORM_H

#include "ir/plan/plan.pb-c.h"
#include "ir/plan/rule.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns EX_DATAERR and sets *fault when the form is broken. fault may be NULL.
dp_status dp_plan_form_check(const Dp__Plan *plan, dp_fault *fault) DP_MUST_USE;

// Sets *fault to the first instruction, if any, with the tensor as operand or result: a fault of the tensor is reported
// there.
void dp_plan_form_user(dp_fault *fault, const Dp__Program *program, size_t tensor);

// The role's arena for a space; NULL: it has none.
const Dp__Arena *dp_plan_form_arena(const Dp__Role *role, Dp__Space space);

#ifdef __cplusplus
}
#endif
#endif
