// A pipeline's tasks in a plan: what one stage computes forward, or backward, for one micro-batch; and how long a step
// takes when they do and all else takes no time.
#ifndef DP_IR_PLAN_REPORT_TASKS_H
#define DP_IR_PLAN_REPORT_TASKS_H

#include "ir/plan/report/steps.h"

#ifdef __cplusplus
extern "C" {
#endif

// A task begins when all that its steps wait for is there, takes 1 forward, 2 backward, 3 where a stage does both at
// once as the last one does, and what it makes is there when it ends; its first step, when it begins. Sets the sum of
// the tasks of each role (roles) and returns when the last ends; below 0: they wait for each other in a circle.
double dp_plan_tasks_run(dp_arena *arena, const dp_plan_steps *steps, double *sums);

#ifdef __cplusplus
}
#endif
#endif
