// Loads and saves a session's weights: safetensors files with one tensor for each parameter and buffer, under its name
// in the model, whatever the devices and the strategy. Floats are converted between float32 and float64 as the plan
// needs.
#ifndef DP_TOOLS_RUN_WEIGHTS_H
#define DP_TOOLS_RUN_WEIGHTS_H

#include "runtime/session.h"

// Loads a file. It must hold every parameter and buffer with the plan's shape, and nothing else (names that start with
// "dp." are skipped). EX_DATAERR; on any error the session is unchanged.
dp_status dp_dprun_weights_load(dp_arena *arena, dp_session *session, const char *path) DP_MUST_USE;
// Replaces `path` whole, or not at all.
dp_status dp_dprun_weights_save(dp_session *session, const char *path) DP_MUST_USE;

#endif
