// A schedule of the learning rate as a SPEC says it, into a plan.
#ifndef DP_IR_PLAN_SCHEDULE_SPEC_H
#define DP_IR_PLAN_SCHEDULE_SPEC_H

#include "ir/plan/plan.pb-c.h"
#include "ir/spec/spec.h"

// Sets all of the schedule but its lr. Texts and lists stay the spec's.
void dp_schedule_set(Dp__Schedule *schedule, const dp_learning_rate_spec *spec);

#endif
