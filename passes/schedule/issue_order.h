// The order in which a program's nodes are issued, private to the passes `bucket` and `streams`.
#ifndef DP_PASSES_SCHEDULE_ISSUE_ORDER_H
#define DP_PASSES_SCHEDULE_ISSUE_ORDER_H

#include "passes/cost/cost_model.h"

// What each node must follow: it takes their results, overwrites a variable that they read, or waits for their events,
// where there are some already. Node i's are before[first[i]] .. before[first[i + 1]].
typedef struct {
  int32_t *first, *before;
} dp_issue_order_edges;

dp_issue_order_edges dp_issue_order_edges_make(dp_arena *arena, const dp_graph *graph);
// The nodes, whose streams are set, in the order in which they are to be issued. The graph itself stays as it is.
dp_node **dp_issue_order_make(dp_arena *arena, const dp_target_costs *costs, const dp_graph *graph,
                              const dp_issue_order_edges *edges);
// The graph's own order, but for what must follow a later node: what schedules are measured against.
dp_node **dp_issue_order_none(dp_arena *arena, const dp_graph *graph, const dp_issue_order_edges *edges);

#endif
