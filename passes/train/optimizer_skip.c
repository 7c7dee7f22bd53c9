// Refused data (ir/graph/refusal.h): counted for each node that may refuse some, added up, and taken by every update.
// See optimizer.h.
#include "ir/graph/refusal.h"

#include "passes/train/optimizer.h"

typedef struct {
  dp_builder *builder;
  dp_refusal_table counts;
  dp_value *total;
} counting;

// The first count of what the node refuses joins the total.
static void count(counting *c, const dp_node *node, const dp_refusal *refusal) {
  dp_builder *b = c->builder;
  dp_value *data = node->inputs[refusal->operand];
  if (dp_refusal_table_find(&c->counts, data, refusal)) return;
  b->prefix = node->name;
  dp_value *refused = dp_refusal_count(b, refusal, data);
  if (b->status) return;
  refused->producer->device = node->device;
  refused->producer->stage = node->stage;
  dp_refusal_table_add(&c->counts, data, refused);
  b->prefix = "refused";
  c->total = c->total ? dp_build2(b, "Add", c->total, refused) : refused;
}

dp_value *dp_optimizer_skip(dp_builder *b) {
  const dp_graph *graph = b->graph;
  const int32_t n_nodes = graph->n_nodes;
  counting c = {.builder = b, .counts = dp_refusal_table_make(graph->arena, graph)};
  // What depends on samples comes first: its counts are summed over devices together.
  for (int constant = 0; constant < 2; constant++)
    for (int32_t i = 0; i < n_nodes; i++) {
      dp_refusal refusal;
      if (!dp_refusal_of(graph->nodes[i], &refusal)) continue;
      if (constant == (graph->nodes[i]->inputs[refusal.operand]->kind == DP_VALUE_CONSTANT))
        count(&c, graph->nodes[i], &refusal);
    }
  return c.total;
}

void dp_optimizer_guard(dp_builder *b, dp_value *skip) {
  dp_graph *graph = b->graph;
  for (int i = 0; i < graph->n_updates && skip && !b->status; i++) {
    dp_update *update = &graph->updates[i];
    const dp_node *producer = update->value->producer;
    if (producer && dp_op_is(producer->op, DP_OP_UPDATE)) continue;
    dp_value *in[] = {dp_graph_variable(graph, update->variable), update->value, skip};
    b->prefix = dp_printf(graph->arena, "optimizer/%s", graph->model->variables[update->variable].name);
    update->value = dp_build(b, "dp.Assign", 3, in, 1, 0, NULL);
  }
}
