// Moving averages of parameters (docs/optimizers.md), which are state `dp.ema/<parameter>`.
#ifndef DP_TOOLS_RUN_AVERAGE_H
#define DP_TOOLS_RUN_AVERAGE_H

#include "runtime/session.h"

// Before any step, the average of a parameter is the parameter.
dp_status dp_dprun_averages_begin(dp_arena *arena, dp_session *session) DP_MUST_USE;

#endif
