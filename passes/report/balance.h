// How evenly a pipeline's stages are loaded, on the rough clock of passes/cost/cost_model.h.
#ifndef DP_PASSES_REPORT_BALANCE_H
#define DP_PASSES_REPORT_BALANCE_H

#include <stdio.h>

#include "ir/base/base.h"
#include "ir/plan/plan.pb-c.h"

// Each stage's share of the computation, and how long stages wait. Nothing for a plan of one stage. The plan must have been
// checked.
dp_status dp_why_balance_print(const Dp__Plan *plan, FILE *out) DP_MUST_USE;

#endif
