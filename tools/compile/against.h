// What `dpc verify --against` does. verify.c reads the plan and runs the checker.
#ifndef DP_TOOLS_COMPILE_AGAINST_H
#define DP_TOOLS_COMPILE_AGAINST_H

#include "tools/compile/decide.h"

// Compiles the model again with the options that the plan records, and compares the plan's logical graphs and first
// values with the result. Prints which options came from the plan. given: options known from elsewhere, the others
// zeroed; each must equal what the plan records. A plan that records none is compared with the model compiled with
// `given`. No file is opened because a plan names it, so a plan with a calibration needs --calibration given.
// EX_DATAERR: something differs; EX_USAGE: the calibration is not given.
dp_status dp_dpc_against_check(dp_arena *arena, const Dp__Plan *plan, const char *path,
                               const dp_dpc_decide *given) DP_MUST_USE;

#endif
