// What a program holds while it runs, for passes that make nodes wait or run earlier than they stand.
#ifndef DP_PASSES_FUSE_HELD_H
#define DP_PASSES_FUSE_HELD_H

#include "ir/graph/graph.h"

// By position, the bytes of transient values that are there. A value is there from what makes it to its last user.
// begins: (nodes) the position at which each node runs.
double *dp_held_bytes(const dp_graph *graph, dp_arena *scratch, const int32_t *begins);

#endif
