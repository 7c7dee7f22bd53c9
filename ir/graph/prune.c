// dp_graph_prune and dp_graph_reorder: remove nodes and values from a graph; put nodes in another order.
#include "ir/base/names.h"
#include "ir/graph/graph.h"

// What has new ids already and is still at its old place.
typedef struct {
  const dp_graph *graph;
  const bool *keep;  // by old id; NULL: everything stays
} renaming;

static int32_t node_now(const void *context, int32_t old) {
  const renaming *r = context;
  return !r->keep || r->keep[old] ? r->graph->nodes[old]->id : -1;
}

static int32_t value_now(const void *context, int32_t old) {
  const renaming *r = context;
  return r->keep[old] ? r->graph->values[old]->id : -1;
}

static void prune_nodes(dp_graph *graph, const bool *keep_node, const bool *keep_value) {
  int32_t n = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    dp_node *node = graph->nodes[i];
    if (!keep_node[i]) continue;
    for (int k = 0; k < node->n_outputs; k++)
      if (node->outputs[k] && !keep_value[node->outputs[k]->id]) node->outputs[k] = NULL;
    node->id = n++;
  }
  if (n == graph->n_nodes) return;
  if (graph->node_names) dp_names_renumber(graph->node_names, node_now, &(renaming){graph, keep_node});
  n = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    if (keep_node[i]) graph->nodes[n++] = graph->nodes[i];
  // dp_grow derives an array's capacity from its count, and this array has at least the capacity of the smaller count.
  graph->n_nodes = n;
}

static void prune_values(dp_graph *graph, const bool *keep) {
  int32_t n = 0;
  for (int32_t i = 0; i < graph->n_values; i++)
    if (keep[i]) graph->values[i]->id = n++;
  if (n == graph->n_values) return;
  if (graph->value_names) dp_names_renumber(graph->value_names, value_now, &(renaming){graph, keep});
  n = 0;
  for (int32_t i = 0; i < graph->n_values; i++)
    if (keep[i]) graph->values[n++] = graph->values[i];
  graph->n_values = n;
}

void dp_graph_prune(dp_graph *graph, const bool *keep_node, const bool *keep_value) {
  prune_nodes(graph, keep_node, keep_value);
  prune_values(graph, keep_value);
}

void dp_graph_reorder(dp_graph *graph, dp_node *const *nodes) {
  for (int32_t i = 0; i < graph->n_nodes; i++) nodes[i]->id = i;
  if (graph->node_names) dp_names_renumber(graph->node_names, node_now, &(renaming){graph, NULL});
  if (graph->n_nodes) memcpy(graph->nodes, nodes, (size_t)graph->n_nodes * sizeof *nodes);
}
