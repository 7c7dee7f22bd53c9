// Weights in and out of a session: safetensors files with one tensor per parameter and buffer, under its name in the model,
// whatever the devices and the strategy. Floats are converted between float32 and float64 as the plan asks.
#ifndef DP_TOOLS_RUN_WEIGHTS_H
#define DP_TOOLS_RUN_WEIGHTS_H

#include "runtime/session.h"

// Every parameter and buffer must be there with the plan's shape, and nothing else (names that begin with "dp." are
// passed over). EX_DATAERR; the session is untouched when anything is wrong.
dp_status dp_dprun_weights_load(dp_arena *arena, dp_session *session, const char *path) DP_MUST_USE;
// Replaces `path` whole, or not at all.
dp_status dp_dprun_weights_save(dp_session *session, const char *path) DP_MUST_USE;

#endif
