// See order.h.
#include "passes/memory/order.h"

#include <string.h>

static void order_after(int *clock, const int *before, int n_streams, int stream, int position) {
  for (int s = 0; s < n_streams; s++)
    if (before[s] > clock[s]) clock[s] = before[s];
  if (position + 1 > clock[stream]) clock[stream] = position + 1;
}

dp_order dp_order_make(dp_arena *arena, const dp_graph *graph) {
  int n = graph->n_streams;
  dp_order order = {n, dp_alloc_n(arena, (size_t)graph->n_nodes + 1, sizeof *order.position),
                    dp_alloc_n(arena, ((size_t)graph->n_nodes + 1) * (size_t)n, sizeof *order.clock)};
  const dp_node **signaller = dp_alloc_n(arena, (size_t)graph->n_events + 1, sizeof *signaller);
  const dp_node **last = dp_alloc_n(arena, (size_t)n + 1, sizeof *last);
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i], *before = last[node->stream];
    int *clock = order.clock + i * n;
    order.position[i] = before ? order.position[before->id] + 1 : 0;
    if (before) order_after(clock, order.clock + before->id * n, n, before->stream, order.position[before->id]);
    for (int w = 0; w < node->n_waits; w++) {
      const dp_node *from = signaller[node->waits[w]];
      if (from) order_after(clock, order.clock + from->id * n, n, from->stream, order.position[from->id]);
    }
    if (node->signal >= 0) signaller[node->signal] = node;
    last[node->stream] = node;
  }
  return order;
}
