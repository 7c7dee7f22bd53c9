// Whether a plan's learning rate is that of an optimizer, for `dpc verify --against`. The logical graphs take the rate
// as a number that the runtime computes from the schedule, so they do not show it.
#ifndef DP_IR_VERIFY_AGAINST_LEARNING_RATE_H
#define DP_IR_VERIFY_AGAINST_LEARNING_RATE_H

#include "ir/base/base.h"
#include "ir/plan/plan.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

// Either may be NULL: no schedule. EX_DATAERR names the first field that differs.
dp_status dp_against_learning_rate_check(const Dp__Schedule *plan, const Dp__Schedule *model) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
