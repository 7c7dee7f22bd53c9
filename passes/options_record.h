// The options of a compilation as the plan records them (dp.Options).
#ifndef DP_PASSES_OPTIONS_RECORD_H
#define DP_PASSES_OPTIONS_RECORD_H

#include "passes/base/pass.h"

#ifdef __cplusplus
extern "C" {
#endif

// The options that are given, as texts and numbers; what is not given is not set. Lives in the arena.
Dp__Options *dp_options_message(dp_arena *arena, const dp_options *options);

// What the model was compiled with, after the pass `batch` or any later one: what was given, and what was taken where
// nothing was. Lives in the model's arena.
Dp__Options *dp_options_record(const dp_compile *compile);

#ifdef __cplusplus
}
#endif
#endif
