// How evenly a pipeline's stages are loaded, by the rough cost model of passes/cost/cost_model.h.
#ifndef DP_PASSES_REPORT_BALANCE_H
#define DP_PASSES_REPORT_BALANCE_H

#include <stdio.h>

#include "ir/kernel/kernel.h"
#include "ir/plan/plan.pb-c.h"

// Prints each stage's share of the computation and how long stages wait, by the target's costs. Prints nothing for a
// plan of one stage. The plan must have been checked.
dp_status dp_why_balance_print(const Dp__Plan *plan, const dp_target_costs *costs, FILE *out) DP_MUST_USE;

#endif
