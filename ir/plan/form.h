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

// Finds the first instruction that has the tensor as operand or result: a fault of the tensor is reported there. false:
// no instruction has it, and *stream and *instruction stay.
bool dp_plan_form_user(const Dp__Program *program, size_t tensor, uint32_t *stream, uint32_t *instruction);
// Names an instruction of the program in *fault.
void dp_plan_form_fault_at(dp_fault *fault, const Dp__Program *program, uint32_t stream, uint32_t instruction);

// "transient", as in "transient memory"; NULL: no memory that is known.
const char *dp_plan_form_space(Dp__Space space);
// The role's arena for a space; NULL: it has none.
const Dp__Arena *dp_plan_form_arena(const Dp__Role *role, Dp__Space space);

#ifdef __cplusplus
}
#endif
#endif
