// Saves a session's weights: a safetensors file with one tensor for each parameter and buffer, under its name in the
// model, whatever the devices and the strategy.
#ifndef DP_TOOLS_RUN_WEIGHTS_H
#define DP_TOOLS_RUN_WEIGHTS_H

#include "runtime/session.h"

// Replaces `path` whole, or not at all.
dp_status dp_dprun_weights_save(dp_session *session, const char *path) DP_MUST_USE;

#endif
