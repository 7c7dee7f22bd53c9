// What `dpc verify --against` does. verify.c reads the plan and runs the checker.
#ifndef DP_TOOLS_COMPILE_AGAINST_H
#define DP_TOOLS_COMPILE_AGAINST_H

#include "passes/base/pass.h"

// Compiles the model again with the options that the plan records and holds the plan's logical graphs and first values against
// what comes of it; prints which options it took from the plan. given: options that are known from elsewhere, the rest zeroed;
// each must be as the plan records it. A plan that records none is held against the model as `given` compiles it.
// EX_DATAERR when something differs.
dp_status dp_dpc_against_check(dp_arena *arena, const Dp__Plan *plan, const char *path,
                               const dp_options *given) DP_MUST_USE;

#endif
