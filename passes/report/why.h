// What a plan decided, for people: what lies where, what a device holds, what it moves.
#ifndef DP_PASSES_REPORT_WHY_H
#define DP_PASSES_REPORT_WHY_H

#include <stdio.h>

#include "ir/kernel/kernel.h"
#include "ir/plan/plan.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

// target: what the plan was compiled for. The plan must have been checked. Bytes are those of the device with the most,
// at the largest batch.
dp_status dp_why_print(const Dp__Plan *plan, const dp_target *target, FILE *out) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
