// The order in which a program's nodes are issued, private to the passes `fuse`, `bucket` and `streams`.
#ifndef DP_PASSES_SCHEDULE_ISSUE_ORDER_H
#define DP_PASSES_SCHEDULE_ISSUE_ORDER_H

#include "passes/cost/cost_model.h"

// What each node must follow: the producers of its operands, the readers of a variable that it overwrites, and the
// signallers of events that it already waits for. Node i's are before[first[i]] .. before[first[i + 1] - 1].
typedef struct {
  int32_t *first, *before;
  const int64_t *when;  // (nodes) what orders them where nothing else does (windows.h); NULL: their positions
} dp_issue_order_edges;

dp_issue_order_edges dp_issue_order_edges_make(dp_arena *arena, const dp_graph *graph);
// The edges of so many nodes reversed: what must follow each.
dp_issue_order_edges dp_issue_order_edges_turn(dp_arena *arena, const dp_issue_order_edges *edges, int32_t n);
// Of each node, whether it depends on no sample. The graph is in order.
bool *dp_issue_order_constant(dp_arena *arena, const dp_graph *graph);
// The nodes, whose streams are set, in the order in which to issue them. Does not change the graph.
dp_node **dp_issue_order_make(dp_arena *arena, const dp_target_costs *costs, const dp_graph *graph,
                              const dp_issue_order_edges *edges);
// By time; where there is none, the graph's own order, except for nodes that must follow a later one. The baseline for
// schedules.
dp_node **dp_issue_order_none(dp_arena *arena, const dp_graph *graph, const dp_issue_order_edges *edges);

#endif
