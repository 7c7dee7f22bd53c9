// The compiler: every pass of list.h in turn, from a source model to a plan.
#ifndef DP_PASSES_PIPELINE_H
#define DP_PASSES_PIPELINE_H

#include "passes/base/pass.h"

#ifdef __cplusplus
extern "C" {
#endif

// The list, in order; ends with NULL.
const dp_pass *const *dp_pipeline_passes(void);
const dp_pass *dp_pipeline_find(const char *name);  // NULL when there is none
// Runs one pass: checks its requirements, runs it, verifies all graphs.
dp_status dp_pipeline_run_pass(dp_compile *compile, const dp_pass *pass) DP_MUST_USE;
// Runs all passes. The plan lives in the model's arena; NULL when stop_after ended it early. Its short messages may be
// one and the same in several places, so they are not to be changed. Failures have the exit codes of `dpc --help`:
// EX_USAGE, EX_CONFIG, EX_DATAERR, EX_UNAVAILABLE.
dp_status dp_pipeline_run(dp_model *model, const dp_options *options, Dp__Plan **plan) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
