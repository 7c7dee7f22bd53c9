// See held.h.
#include "passes/fuse/held.h"

#include "passes/cost/cost_model.h"

double *dp_held_bytes(const dp_graph *graph, dp_arena *scratch, const int32_t *begins) {
  double *held = dp_alloc_n(scratch, (size_t)graph->n_nodes + 1, sizeof *held);
  int32_t *last = dp_alloc_n(scratch, (size_t)graph->n_values + 1, sizeof *last);
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    for (int k = 0; k < node->n_inputs; k++)
      if (node->inputs[k] && last[node->inputs[k]->id] < begins[i]) last[node->inputs[k]->id] = begins[i];
  }
  for (int32_t v = 0; v < graph->n_values; v++) {
    const dp_value *x = graph->values[v];
    if (!x->producer || x->space != DP_SPACE_TRANSIENT) continue;
    const double bytes = dp_cost_model_bytes(graph->model, x);
    const int32_t made = begins[x->producer->id];
    held[made] += bytes;
    held[dp_max_i64(made, last[v]) + 1] -= bytes;
  }
  for (int32_t i = 1; i < graph->n_nodes; i++) held[i] += held[i - 1];
  return held;
}
