// Happens-before within one device's program, from streams and events; private to the passes after `streams`.
#ifndef DP_PASSES_MEMORY_ORDER_H
#define DP_PASSES_MEMORY_ORDER_H

#include "ir/graph/graph.h"

typedef struct {
  int n_streams;
  int *position;  // (nodes) position in the node's stream
  int *clock;     // (nodes, streams) how many nodes of each stream are done before the node begins
} dp_order;

dp_order dp_order_make(dp_arena *arena, const dp_graph *graph);
// Whether the first `count` nodes of a stream are done before `node` begins.
static inline bool dp_order_done(const dp_order *order, const dp_node *node, int stream, int count) {
  return order->clock[node->id * order->n_streams + stream] >= count;
}

#endif
