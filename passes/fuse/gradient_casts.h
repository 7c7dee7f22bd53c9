// Casts of gradients that updates take into their region (dp_target.gradient_casts), for the passes of this folder.
#ifndef DP_PASSES_FUSE_GRADIENT_CASTS_H
#define DP_PASSES_FUSE_GRADIENT_CASTS_H

#include "ir/graph/graph.h"

// (nodes) of a Cast from 16 bits whose result is the gradient of one update and nothing else: that update; of all other
// nodes: NULL. Between the two there is no communication, since that would read the result.
dp_node **dp_gradient_casts(const dp_graph *graph, dp_arena *scratch);

#endif
