// What depends on constants only, computed while compiling; also for other passes that want to know it.
#ifndef DP_PASSES_SIMPLIFY_FOLD_H
#define DP_PASSES_SIMPLIFY_FOLD_H

#include "passes/base/pass.h"

// The value, computed by the target's reference kernels in memory of `arena`, and the graph stays as it is. NULL: it
// depends on more than constants, it and what it is computed from take more than `most` bytes, are more than a few
// nodes, or a kernel fails.
const dp_tensor *dp_fold_value(const dp_target *target, dp_arena *arena, const dp_value *value, int64_t most);

#endif
