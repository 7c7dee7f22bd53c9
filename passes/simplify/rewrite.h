// Replaces values of a graph in one walk over its nodes: for each node in order call dp_rewrite_operands, then
// optionally dp_rewrite_replace and dp_rewrite_drop. dp_rewrite_end updates outputs and updates, and removes what was
// dropped.
#ifndef DP_PASSES_SIMPLIFY_REWRITE_H
#define DP_PASSES_SIMPLIFY_REWRITE_H

#include "ir/graph/graph.h"

typedef struct {
  dp_graph *graph;
  int32_t n_values, n_nodes;  // when the walk began
  dp_arena *tables;           // until dp_rewrite_end
  dp_value **by;              // by value id: its replacement; NULL: itself
  bool *keep_node, *keep_value;
  bool replaced, dropped;  // anything
} dp_rewrite;

// Whether the node is ONNX's operator of this name, and the user does not say where its operands and results are.
// false for NULL.
bool dp_rewrite_is(const dp_node *node, const char *name);

dp_rewrite dp_rewrite_begin(dp_graph *graph);
// The value's replacement, or the value itself.
dp_value *dp_rewrite_find(const dp_rewrite *rewrite, dp_value *value);
void dp_rewrite_operands(const dp_rewrite *rewrite, dp_node *node);
// `by` must not itself be replaced.
void dp_rewrite_replace(dp_rewrite *rewrite, dp_value *value, dp_value *by);
// Removes the node with its results, each of which was replaced or is unused.
void dp_rewrite_drop(dp_rewrite *rewrite, const dp_node *node);
// Removes a value without producer, which was replaced or is unused.
void dp_rewrite_drop_value(dp_rewrite *rewrite, const dp_value *value);
// The graph's nodes from number `first` on go where `node` goes, in whose place they are.
void dp_rewrite_follow(const dp_graph *graph, int32_t first, const dp_node *node);
void dp_rewrite_end(dp_rewrite *rewrite);
// Whether the walk left the graph as it was.
static inline bool dp_rewrite_did_nothing(const dp_rewrite *rewrite) { return !rewrite->replaced && !rewrite->dropped; }

#endif
