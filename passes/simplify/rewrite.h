// Replacing values of a graph in one walk over its nodes: for each node in order, dp_rewrite_operands, then perhaps
// dp_rewrite_replace and dp_rewrite_drop; dp_rewrite_end sees to outputs and updates and takes out what was dropped.
#ifndef DP_PASSES_SIMPLIFY_REWRITE_H
#define DP_PASSES_SIMPLIFY_REWRITE_H

#include "ir/graph/graph.h"

typedef struct {
  dp_graph *graph;
  int32_t n_values, n_nodes;  // when the walk began
  dp_value **by;              // by value id: what stands for it; NULL: itself
  bool *keep_node, *keep_value;
  bool dropped;
} dp_rewrite;

dp_rewrite dp_rewrite_begin(dp_graph *graph);
// What stands for a value.
dp_value *dp_rewrite_find(const dp_rewrite *rewrite, dp_value *value);
void dp_rewrite_operands(const dp_rewrite *rewrite, dp_node *node);
// `by` is not itself replaced.
void dp_rewrite_replace(dp_rewrite *rewrite, dp_value *value, dp_value *by);
// The node goes, with its results, each of which was replaced or is not used.
void dp_rewrite_drop(dp_rewrite *rewrite, const dp_node *node);
// A value without producer goes; it was replaced or is not used.
void dp_rewrite_drop_value(dp_rewrite *rewrite, const dp_value *value);
void dp_rewrite_end(dp_rewrite *rewrite);

#endif
