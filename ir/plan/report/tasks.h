// A pipeline's tasks in a plan: what one stage computes forward, or backward, for one micro-batch; and the time of a
// step when tasks take time and everything else takes none.
#ifndef DP_IR_PLAN_REPORT_TASKS_H
#define DP_IR_PLAN_REPORT_TASKS_H

#include "ir/plan/report/steps.h"

#ifdef __cplusplus
extern "C" {
#endif

// A task begins when everything that its steps wait for is available. It takes 1 forward, 2 backward, and 3 where a
// stage does both at once, as the last one does. Its results are available when it ends; those of its first step, when
// it begins. Sets `sums` (roles) to the total of each role's tasks. Returns when the last task ends; below 0: the tasks
// wait for each other in a cycle.
double dp_plan_tasks_run(dp_arena *arena, const dp_plan_steps *steps, double *sums);

#ifdef __cplusplus
}
#endif
#endif
