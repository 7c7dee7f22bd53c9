// Makes regions of groups of nodes, for the passes of this folder.
#ifndef DP_PASSES_FUSE_REGIONS_H
#define DP_PASSES_FUSE_REGIONS_H

#include "ir/graph/graph.h"

// Moves nodes behind those that they must follow: operands' producers, and readers of a variable that they overwrite.
void dp_regions_put_in_order(dp_graph *graph, dp_arena *scratch);

// Whether the node is a Send or a Recv: stages have agreed on the order of these, and no region reaches across one.
bool dp_regions_is_transfer(const dp_node *node);
// (nodes) The number of these before each node.
int32_t *dp_regions_segments(const dp_graph *graph, dp_arena *arena);

// Makes one dp.Region of each group of several nodes. group_of: (nodes) a number below n_groups. The graph is in order,
// and no group depends on what depends on it.
void dp_regions_make(dp_graph *graph, dp_arena *scratch, int32_t n_groups, const int32_t *group_of);

#endif
