// dce: removes what no output and no update depends on: nodes, optional results, values, inputs too.
#include "ir/graph/op.h"
#include "passes/base/pass.h"

// An instruction always gives its first result.
static bool is_optional(const dp_node *node, int result) {
  return result > 0 && result < node->op->n_outputs && node->op->outputs[result].optional;
}

static void sweep(dp_graph *graph) {
  dp_arena *arena = graph->arena;
  bool *used =
      dp_alloc_n(arena, (size_t)graph->n_values, sizeof *used);  // by an output, an update or a node that stays
  bool *keep = dp_alloc_n(arena, (size_t)graph->n_nodes, sizeof *keep);
  for (int i = 0; i < graph->n_outputs; i++) used[graph->outputs[i].value->id] = true;
  for (int i = 0; i < graph->n_updates; i++) used[graph->updates[i].value->id] = true;
  for (int32_t i = graph->n_nodes; i-- > 0;) {
    const dp_node *node = graph->nodes[i];
    for (int k = 0; k < node->n_outputs; k++) keep[i] |= node->outputs[k] && used[node->outputs[k]->id];
    for (int k = 0; k < node->n_inputs && keep[i]; k++)
      if (node->inputs[k]) used[node->inputs[k]->id] = true;
    // A result that the operator always gives stays with its node.
    for (int k = 0; k < node->n_outputs && keep[i]; k++)
      if (node->outputs[k] && !is_optional(node, k)) used[node->outputs[k]->id] = true;
  }
  const int32_t n_nodes = graph->n_nodes, n_values = graph->n_values;
  dp_graph_prune(graph, keep, used);
  graph->unchanged = graph->n_nodes == n_nodes && graph->n_values == n_values;
}

static dp_status run(dp_compile *compile) {
  for (int i = 0; i < compile->model->n_graphs; i++) sweep(compile->model->graphs[i]);
  return DP_OK;
}

const dp_pass dp_pass_dce = {
    .name = "dce",
    .what = "removes what nothing depends on",
    .run = run,
};
