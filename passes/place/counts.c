// Counts of refused data (ir/graph/refusal.h) come as early as they can be made. Programs have them at their end, with
// the updates that take their sum; but if that came after the backward pass, all gradients would be kept until then.
// See place.h.
#include "passes/place/place.h"

// Whether the node counts, or computes from counts alone. is_count: of the nodes before.
static bool counts(const dp_node *node, const bool *is_count) {
  if (dp_op_is(node->op, DP_OP_COUNTS)) return true;
  if (dp_op_is(node->op, DP_OP_UPDATE)) return false;
  bool any = false;
  for (int k = 0; k < node->n_inputs; k++) {
    const dp_value *x = node->inputs[k];
    if (!x || !x->producer) continue;
    if (!is_count[x->producer->id]) return false;
    any = true;
  }
  return any;
}

void dp_place_counts_first(dp_graph *graph) {
  const int32_t n = graph->n_nodes;
  bool any = false;
  for (int32_t i = 0; i < n && !any; i++) any = dp_op_is(graph->nodes[i]->op, DP_OP_COUNTS);
  if (!any) return;
  bool *is_count = dp_alloc_n(graph->arena, (size_t)n + 1, sizeof *is_count);
  int32_t *place =
      dp_alloc_n(graph->arena, (size_t)n + 1, sizeof *place);  // by node: behind so many of the nodes that stay
  int32_t *first = dp_alloc_n(graph->arena, (size_t)n + 2, sizeof *first);  // by place: its first node's position
  for (int32_t i = 0; i < n; i++) {
    const dp_node *node = graph->nodes[i];
    is_count[i] = counts(node, is_count);
    if (!is_count[i]) place[i] = i + 1;
    for (int k = 0; k < node->n_inputs && is_count[i]; k++) {
      const dp_value *x = node->inputs[k];
      if (x && x->producer && place[x->producer->id] > place[i]) place[i] = place[x->producer->id];
    }
    first[place[i] + 1]++;
  }
  for (int32_t i = 0; i <= n; i++) first[i + 1] += first[i];
  dp_node **order = dp_alloc_n(graph->arena, (size_t)n + 1, sizeof *order);
  // What stays is the first of its place, as what is placed behind it has a higher number.
  for (int32_t i = 0; i < n; i++) order[first[place[i]]++] = graph->nodes[i];
  dp_graph_reorder(graph, order);
}
