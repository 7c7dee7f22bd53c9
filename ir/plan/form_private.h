// Shared by the files of the plan's form.
#ifndef DP_IR_PLAN_FORM_PRIVATE_H
#define DP_IR_PLAN_FORM_PRIVATE_H

#include "ir/plan/form.h"

// Bytes [offset, offset + bytes) must lie in the role's arena of the space, aligned. what: whose bytes, for the
// message.
dp_status dp_plan_form_range(dp_fault *fault, const Dp__Role *role, Dp__Space space, uint64_t offset, uint64_t bytes,
                             const char *what) DP_MUST_USE;
// The options that the plan records; there must be some.
dp_status dp_plan_form_options(dp_fault *fault, const Dp__Plan *plan) DP_MUST_USE;
dp_status dp_plan_form_calibration(dp_fault *fault, const Dp__Calibration *calibration) DP_MUST_USE;
// fault->program is set.
dp_status dp_plan_form_program(dp_fault *fault, const Dp__Plan *plan, const Dp__Role *role,
                               const Dp__Program *program) DP_MUST_USE;

#endif
