// The options of a compilation as the plan records them (dp.Options).
#ifndef DP_PASSES_OPTIONS_RECORD_H
#define DP_PASSES_OPTIONS_RECORD_H

#include "passes/base/pass.h"

#ifdef __cplusplus
extern "C" {
#endif

// The given options as text and numbers; the others are not set. Lives in the arena.
Dp__Options *dp_options_message(dp_arena *arena, const dp_options *options);

// The options that the model was compiled with, given or defaulted. Call it after the pass `batch` or a later one.
// Lives in the model's arena.
Dp__Options *dp_options_record(const dp_compile *compile);

#ifdef __cplusplus
}
#endif
#endif
