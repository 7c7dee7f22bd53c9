// dp_graph_prune and dp_graph_reorder: remove nodes and values from a graph; put nodes in another order.
#include "ir/base/names.h"
#include "ir/graph/graph.h"

static void rename_all(dp_graph *graph) {
  dp_names_clear(graph->value_names);
  dp_names_clear(graph->node_names);
  for (int32_t i = 0; i < graph->n_values; i++) dp_names_add(graph->value_names, graph->values[i]->name, i);
  for (int32_t i = 0; i < graph->n_nodes; i++) dp_names_add(graph->node_names, graph->nodes[i]->name, i);
}

void dp_graph_prune(dp_graph *graph, const bool *keep_node, const bool *keep_value) {
  int32_t n_nodes = 0, n_values = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    dp_node *node = graph->nodes[i];
    if (!keep_node[i]) continue;
    for (int k = 0; k < node->n_outputs; k++)
      if (node->outputs[k] && !keep_value[node->outputs[k]->id]) node->outputs[k] = NULL;
    node->id = n_nodes;
    graph->nodes[n_nodes++] = node;
  }
  for (int32_t i = 0; i < graph->n_values; i++) {
    dp_value *value = graph->values[i];
    if (!keep_value[i]) continue;
    value->id = n_values;
    graph->values[n_values++] = value;
  }
  if (n_nodes == graph->n_nodes && n_values == graph->n_values) return;
  graph->n_nodes = n_nodes;
  graph->n_values = n_values;
  // dp_grow derives an array's capacity from its count, and these arrays have at least the capacity of the smaller
  // count.
  rename_all(graph);
}

void dp_graph_reorder(dp_graph *graph, dp_node **nodes) {
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    graph->nodes[i] = nodes[i];
    nodes[i]->id = i;
  }
  rename_all(graph);
}
