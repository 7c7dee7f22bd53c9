// Whether a plan computes what a model says: `dpc verify --against`.
//
// The plan's logical graphs are compared with those that the compiler makes from the model (its programs after the pass
// `place`, whose device forms keep their logical graphs beside them). Two values are equal when the same operators with
// the same attributes compute them from the same inputs, variables and constants; names of results and the order of
// nodes do not count. That the graphs follow from the model (autodiff, rewrites) is trusted, not checked.
#ifndef DP_IR_VERIFY_AGAINST_H
#define DP_IR_VERIFY_AGAINST_H

#include "ir/graph/graph.h"
#include "ir/plan/plan.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int32_t variables, programs, outputs, updates;  // compared with the model's and found the same
} dp_against_report;

// The plan must have been checked (dp_verify_plan). EX_DATAERR names the first program and value that differ, and the
// nodes at which the difference begins.
dp_status dp_against_check(dp_arena *arena, const Dp__Plan *plan, const dp_model *model,
                           dp_against_report *report) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
