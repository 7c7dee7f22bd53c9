// How far apart computing may be from what brings its operands to a device and takes its results away, so that the
// device's memory holds what a few nodes at a time need. Private to the passes `fuse`, `bucket` and `streams`.
#ifndef DP_PASSES_SCHEDULE_WINDOWS_H
#define DP_PASSES_SCHEDULE_WINDOWS_H

#include "passes/schedule/issue_order.h"

// By node. NULL: nothing has to wait.
typedef struct {
  // Another that it must follow, plus 1; 0: none.
  int32_t *gathered;   // for what gathers a variable or fetches what was offloaded
  int32_t *offloaded;  // for what makes a value that is offloaded
  // When each node is, if something is fetched or offloaded: rises along all edges, but may be the same for a node and
  // what fetches and offloads for it. Stages whose nodes are in this order wait for each other in no circle.
  const int64_t *when;
} dp_windows;

// Nothing has to wait before nodes have their streams. edges: what nodes must follow besides.
dp_windows dp_windows_make(dp_arena *arena, const dp_graph *graph, const dp_issue_order_edges *edges);

// Whether the node is a Fetch; whether it is an Offload.
static inline bool dp_windows_fetches(const dp_node *node) {
  return node->n_inputs && node->inputs[0] && node->inputs[0]->space == DP_SPACE_OFFLOAD;
}
static inline bool dp_windows_offloads(const dp_node *node) {
  return node->n_outputs && node->outputs[0] && node->outputs[0]->space == DP_SPACE_OFFLOAD;
}
// Whether an operand of the node is fetched.
bool dp_windows_takes_fetched(const dp_node *node);

#endif
