// What to compute twice, so that a program takes so many bytes. Private to the pass `recompute`.
#ifndef DP_PASSES_RECOMPUTE_CHOOSE_H
#define DP_PASSES_RECOMPUTE_CHOOSE_H

#include "passes/recompute/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

// Sets drop[node id], which is all false, so that the estimate is within `bytes` in the least time found; where nothing
// is within them, so that it is the least found. Nodes with the same logical node are treated alike.
void dp_recompute_choose(const dp_recompute_work *w, double bytes, bool *drop);

#ifdef __cplusplus
}
#endif
#endif
