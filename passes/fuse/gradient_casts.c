// See gradient_casts.h.
#include "passes/fuse/gradient_casts.h"

#include <string.h>

#include "ir/graph/op.h"

static const struct {
  const char *optimizer;
  int gradient;  // which operand it is
} optimizers[] = {{"SGD", 2}, {"Adam", 3}};

static const dp_value *gradient_of(const dp_node *node) {
  for (size_t i = 0; i < DP_COUNT(optimizers); i++)
    if (!strcmp(node->op->domain, "dp") && !strcmp(node->op->name, optimizers[i].optimizer))
      return node->inputs[optimizers[i].gradient];
  return NULL;
}

static bool widens(const dp_node *node) {
  return dp_op_widening(node) > 0 && node->logical && !node->n_waits && node->signal < 0 &&
         node->inputs[0]->space == DP_SPACE_TRANSIENT && node->outputs[0]->type->dtype == DP_FLOAT32;
}

dp_node **dp_gradient_casts(const dp_graph *graph, dp_arena *scratch) {
  dp_node **updates = dp_alloc_n(scratch, (size_t)graph->n_nodes + 1, sizeof *updates);
  int32_t *uses = dp_alloc_n(scratch, (size_t)graph->n_values + 1, sizeof *uses);
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      if (graph->nodes[i]->inputs[k]) uses[graph->nodes[i]->inputs[k]->id]++;
  for (int i = 0; i < graph->n_outputs; i++) uses[graph->outputs[i].value->id]++;
  for (int i = 0; i < graph->n_updates; i++) uses[graph->updates[i].value->id]++;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_value *gradient = gradient_of(graph->nodes[i]);
    if (gradient && widens(gradient->producer) && uses[gradient->id] == 1)
      updates[gradient->producer->id] = graph->nodes[i];
  }
  return updates;
}
