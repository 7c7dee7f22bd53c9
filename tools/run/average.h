// Moving averages of parameters (docs/optimizers.md), which are state `dp.ema/<parameter>`.
#ifndef DP_TOOLS_RUN_AVERAGE_H
#define DP_TOOLS_RUN_AVERAGE_H

#include "runtime/session.h"

bool dp_dprun_is_average(const dp_variable *variable);
// The variable that holds the average of this one; -1: there is none.
int32_t dp_dprun_average_of(dp_arena *arena, const dp_model *model, int32_t variable);
// Before any step, the average of a parameter is the parameter.
dp_status dp_dprun_averages_begin(dp_arena *arena, dp_session *session) DP_MUST_USE;

#endif
