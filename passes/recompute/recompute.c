// recompute: the backward pass computes some values of the forward pass again, so that they need not be kept from one
// to the other. --recompute says which: those of nodes whose name matches a glob, or, with auto, those that take the
// least time for what --memory asks (choose.c). A second computation is a node of its own, right before the first that
// needs it, with the operands, attributes and logical node of the first: random numbers are the same, because they come
// from keys. What devices send each other is kept; variables that are gathered for each use are gathered for this one
// too.
#include <fnmatch.h>
#include <string.h>

#include "passes/base/pass.h"
#include "passes/recompute/choose.h"

// The nodes in the sequence's order, second computations added, without those whose results nothing reads any more.
static void apply(const dp_recompute_work *w, const bool *drop) {
  dp_graph *graph = w->graph;
  const dp_recompute_sequence s = dp_recompute_expand(w, w->scratch, drop);
  dp_value **map = dp_alloc_n(w->scratch, (size_t)graph->n_values + 1, sizeof *map);
  dp_node **first = dp_memdup(w->scratch, graph->nodes, (size_t)graph->n_nodes * sizeof *first);
  dp_node **nodes = dp_alloc_n(graph->arena, (size_t)s.count + 1, sizeof *nodes);
  for (int32_t v = 0; v < graph->n_values; v++) map[v] = graph->values[v];
  for (int32_t i = 0; i < s.count; i++) {
    dp_node *node = first[s.steps[i].node];
    if (s.steps[i].again) {
      node = dp_graph_copy_node_as(graph, node, "/recomputed", map);
      node->n_waits = 0;
      node->signal = -1;
    } else if (!w->forward[node->id]) {
      for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k]) node->inputs[k] = map[node->inputs[k]->id];
    }
    nodes[i] = node;
  }
  dp_graph_reorder(graph, nodes);
}

static void drop_unread(dp_graph *graph, dp_arena *scratch) {
  bool *keep_node = dp_alloc_n(scratch, (size_t)graph->n_nodes + 1, sizeof *keep_node);
  bool *keep_value = dp_alloc_n(scratch, (size_t)graph->n_values + 1, sizeof *keep_value);
  bool *read = dp_alloc_n(scratch, (size_t)graph->n_values + 1, sizeof *read);
  for (int i = 0; i < graph->n_outputs; i++) read[graph->outputs[i].value->id] = true;
  for (int i = 0; i < graph->n_updates; i++) read[graph->updates[i].value->id] = true;
  for (int32_t v = 0; v < graph->n_values; v++) keep_value[v] = graph->values[v]->kind != DP_VALUE_RESULT;
  for (int32_t i = graph->n_nodes; i-- > 0;) {
    const dp_node *node = graph->nodes[i];
    keep_node[i] = !node->logical || !node->n_outputs || node->signal >= 0;
    for (int k = 0; k < node->n_outputs; k++) keep_node[i] |= node->outputs[k] && read[node->outputs[k]->id];
    for (int k = 0; k < node->n_outputs && keep_node[i]; k++)
      if (node->outputs[k]) keep_value[node->outputs[k]->id] = true;
    for (int k = 0; k < node->n_inputs && keep_node[i]; k++)
      if (node->inputs[k]) read[node->inputs[k]->id] = true;
  }
  dp_graph_prune(graph, keep_node, keep_value);
}

static dp_status run_graph(dp_compile *compile, dp_graph *graph, dp_arena *scratch) {
  const dp_options *o = compile->options;
  const dp_recompute_work w = dp_recompute_begin(graph, scratch, &o->target->costs);
  bool *drop = dp_alloc_n(scratch, (size_t)graph->n_nodes + 1, sizeof *drop), any = false;
  if (strcmp(o->recompute, "auto")) {
    for (int32_t i = 0; i < graph->n_nodes; i++)
      drop[i] = w.candidate[i] && !fnmatch(o->recompute, graph->nodes[i]->logical->name, 0);
  } else if (o->recompute_bytes) {
    dp_recompute_choose(&w, (double)o->recompute_bytes, drop);
  }
  for (int32_t i = 0; i < graph->n_nodes; i++) any |= drop[i];
  if (any) {
    apply(&w, drop);
    drop_unread(graph, scratch);
  }
  graph->unchanged = !any;
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  const dp_model *model = compile->model;
  const char *asked = compile->options->recompute;
  compile->unchanged = !asked || !strcmp(asked, "none");
  if (compile->unchanged) return DP_OK;
  DP_TRY(dp_pass_each_graph(compile, run_graph));
  bool any = !strcmp(asked, "auto");
  for (int i = 0; i < model->n_graphs; i++) any |= !model->graphs[i]->unchanged;
  return any ? DP_OK
             : dp_fail(EX_USAGE,
                       "--recompute=%s: no node that can be computed again has a name that matches; dpc show lists the "
                       "nodes",
                       asked);
}

const dp_pass dp_pass_recompute = {
    .name = "recompute",
    .what = "the backward pass computes values again that --recompute names",
    .needs = DP_HAS_ROLES,
    .run = run,
};
