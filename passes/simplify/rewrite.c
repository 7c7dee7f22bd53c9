// Replacing values of a graph. See rewrite.h.
#include "passes/simplify/rewrite.h"

#include <string.h>

#include "ir/graph/op.h"

bool dp_rewrite_is(const dp_node *node, const char *name) {
  return node && !*node->op->domain && !strcmp(node->op->name, name) && !node->n_constraints;
}

dp_rewrite dp_rewrite_begin(dp_graph *graph) {
  dp_rewrite r = {.graph = graph, .n_values = graph->n_values, .n_nodes = graph->n_nodes};
  r.tables = dp_arena_create_within(graph->arena);
  r.by = dp_alloc_n(r.tables, (size_t)r.n_values, sizeof(dp_value *));
  r.keep_node = dp_alloc_n(r.tables, (size_t)r.n_nodes, sizeof *r.keep_node);
  r.keep_value = dp_alloc_n(r.tables, (size_t)r.n_values, sizeof *r.keep_value);
  for (int32_t i = 0; i < r.n_nodes; i++) r.keep_node[i] = true;
  for (int32_t i = 0; i < r.n_values; i++) r.keep_value[i] = true;
  return r;
}

dp_value *dp_rewrite_find(const dp_rewrite *rewrite, dp_value *value) {
  if (!value || value->id >= rewrite->n_values || !rewrite->by[value->id]) return value;
  return rewrite->by[value->id];
}

void dp_rewrite_operands(const dp_rewrite *rewrite, dp_node *node) {
  for (int i = 0; i < node->n_inputs; i++) node->inputs[i] = dp_rewrite_find(rewrite, node->inputs[i]);
}

void dp_rewrite_replace(dp_rewrite *rewrite, dp_value *value, dp_value *by) {
  rewrite->replaced = true;
  rewrite->by[value->id] = by;
}

void dp_rewrite_follow(const dp_graph *graph, int32_t first, const dp_node *node) {
  for (int32_t k = first; k < graph->n_nodes; k++) {
    graph->nodes[k]->device = node->device;
    graph->nodes[k]->stage = node->stage;
  }
}

void dp_rewrite_drop(dp_rewrite *rewrite, const dp_node *node) {
  rewrite->dropped = true;
  rewrite->keep_node[node->id] = false;
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i]) rewrite->keep_value[node->outputs[i]->id] = false;
}

void dp_rewrite_drop_value(dp_rewrite *rewrite, const dp_value *value) {
  rewrite->dropped = true;
  rewrite->keep_value[value->id] = false;
}

// Extends the flags to values and nodes added since.
static bool *extend_flags(dp_arena *arena, const bool *flags, int32_t count, int32_t now) {
  bool *all = dp_alloc_n(arena, (size_t)now, sizeof *all);
  for (int32_t i = 0; i < now; i++) all[i] = i >= count || flags[i];
  return all;
}

void dp_rewrite_end(dp_rewrite *rewrite) {
  dp_graph *graph = rewrite->graph;
  for (int i = 0; i < graph->n_outputs; i++)
    graph->outputs[i].value = dp_rewrite_find(rewrite, graph->outputs[i].value);
  for (int i = 0; i < graph->n_updates; i++)
    graph->updates[i].value = dp_rewrite_find(rewrite, graph->updates[i].value);
  if (rewrite->dropped)
    dp_graph_prune(graph, extend_flags(rewrite->tables, rewrite->keep_node, rewrite->n_nodes, graph->n_nodes),
                   extend_flags(rewrite->tables, rewrite->keep_value, rewrite->n_values, graph->n_values));
  dp_arena_destroy(rewrite->tables);
}
