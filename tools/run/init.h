// --init: puts the weights of files into a session.
#ifndef DP_TOOLS_RUN_INIT_H
#define DP_TOOLS_RUN_INIT_H

#include "runtime/session.h"
#include "tools/weights/load.h"

// Moving averages of parameters (docs/optimizers.md) go where the plan keeps its own; where it keeps none, inference
// takes them for the parameters, as a plan that averages does. save: the file of --save, which none of those read may
// be; NULL: none. Fails as dp_weights_load does; then the session is unchanged.
dp_status dp_dprun_init_load(dp_arena *arena, dp_session *session, const dp_weights_options *options, const char *save,
                             bool infer, dp_weights *weights) DP_MUST_USE;

#endif
