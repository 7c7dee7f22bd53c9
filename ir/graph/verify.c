// dp_graph_verify: the invariants of a graph between passes.
#include <string.h>

#include "ir/base/names.h"
#include "ir/graph/op.h"

static const char *value_name(const void *graph, int32_t i) { return ((const dp_graph *)graph)->values[i]->name; }

static const char *node_name(const void *graph, int32_t i) { return ((const dp_graph *)graph)->nodes[i]->name; }

// No two values and no two nodes have one name.
static dp_status check_distinct(const dp_graph *graph, dp_arena *scratch) {
  dp_names *values = dp_names_create(scratch), *nodes = dp_names_create(scratch);
  for (int32_t i = 0; i < graph->n_values; i++) {
    if (dp_names_find(values, graph->values[i]->name) >= 0)
      return dp_fail(EX_DATAERR, "the name '%s' stands for two values", graph->values[i]->name);
    dp_names_add(values, graph->values[i]->name, i);
  }
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    if (dp_names_find(nodes, graph->nodes[i]->name) >= 0)
      return dp_fail(EX_DATAERR, "the name '%s' stands for two nodes", graph->nodes[i]->name);
    dp_names_add(nodes, graph->nodes[i]->name, i);
  }
  return DP_OK;
}

// Each name finds its value or node, and there are no others.
static dp_status check_names(const dp_graph *graph) {
  if (!graph->value_names) {
    dp_arena *scratch = dp_arena_create_within(graph->arena);
    dp_status status = check_distinct(graph, scratch);
    dp_arena_destroy(scratch);
    return status;
  }
  if (!dp_names_are(graph->value_names, graph->n_values, value_name, graph))
    for (int32_t i = 0; i < graph->n_values; i++)
      if (dp_names_find(graph->value_names, graph->values[i]->name) != i)
        return dp_fail(EX_DATAERR, "the name '%s' stands for two values", graph->values[i]->name);
  if (!dp_names_are(graph->node_names, graph->n_nodes, node_name, graph))
    for (int32_t i = 0; i < graph->n_nodes; i++)
      if (dp_names_find(graph->node_names, graph->nodes[i]->name) != i)
        return dp_fail(EX_DATAERR, "the name '%s' stands for two nodes", graph->nodes[i]->name);
  return DP_OK;
}

static dp_status check_scalars(const dp_graph *graph) {
  static const char *const names[] = {DP_SCALAR_STEP, DP_SCALAR_N, DP_SCALAR_LR, DP_SCALAR_SEED};
  for (size_t i = 0; i < DP_COUNT(names); i++) {
    const dp_value *v = dp_graph_find_value(graph, names[i]);
    if (v && v->kind != DP_VALUE_SCALAR)
      return dp_fail(EX_DATAERR, "'%s' is the name of a scalar that the runtime provides; no other value may have it",
                     v->name);
  }
  return DP_OK;
}

static dp_status check_value(const dp_graph *graph, int32_t i) {
  const dp_value *v = graph->values[i];
  if (v->id != i) return dp_fail(EX_DATAERR, "value '%s' has id %d at index %d", v->name, v->id, i);
  if (!dp_type_bytes(v->type->dtype)) return dp_fail(EX_DATAERR, "value '%s' has no type", v->name);
  if ((v->kind == DP_VALUE_RESULT) != (v->producer != NULL))
    return dp_fail(EX_DATAERR, "value '%s' has no producer", v->name);
  if (v->producer && (v->producer->id >= graph->n_nodes || graph->nodes[v->producer->id] != v->producer ||
                      v->result >= v->producer->n_outputs || v->producer->outputs[v->result] != v))
    return dp_fail(EX_DATAERR, "value '%s' is not the result of its producer", v->name);
  if (v->kind == DP_VALUE_CONSTANT && !v->constant) return dp_fail(EX_DATAERR, "constant '%s' has no data", v->name);
  if (v->kind == DP_VALUE_VARIABLE && (v->variable < 0 || v->variable >= graph->model->n_variables))
    return dp_fail(EX_DATAERR, "value '%s' names variable %d of %d", v->name, v->variable, graph->model->n_variables);
  return dp_status_context(dp_shape_check(&v->type->shape, dp_max_i64(graph->model->batch, 1)), "value '%s'", v->name);
}

static bool is_in(const dp_graph *graph, const dp_value *v) {
  return v && v->id >= 0 && v->id < graph->n_values && graph->values[v->id] == v;
}

// The types of the results are those that the operands' types give.
static dp_status check_types_with(dp_node *node, const dp_type **before) {
  for (int k = 0; k < node->n_outputs; k++)
    if (node->outputs[k]) before[k] = node->outputs[k]->type;
  DP_TRY(dp_op_infer(node));
  for (int k = 0; k < node->n_outputs; k++) {
    if (!node->outputs[k]) continue;
    const dp_type *now = node->outputs[k]->type;
    if (dp_type_equal(now, before[k])) continue;
    char a[256], b[256];
    return dp_fail(EX_DATAERR, "node '%s': result '%s' is declared %s but is %s", node->name, node->outputs[k]->name,
                   dp_type_print(before[k], a, sizeof a), dp_type_print(now, b, sizeof b));
  }
  return DP_OK;
}

static dp_status check_types(const dp_graph *graph, dp_node *node) {
  const dp_type *few[DP_MAX_OPERANDS];
  if (node->n_outputs <= DP_MAX_OPERANDS) return check_types_with(node, few);
  dp_arena *scratch = dp_arena_create_within(graph->arena);
  dp_status status = check_types_with(node, dp_alloc_n(scratch, (size_t)node->n_outputs, sizeof *few));
  dp_arena_destroy(scratch);
  return status;
}

static dp_status check_links(const dp_graph *graph, int32_t i) {
  const dp_node *node = graph->nodes[i];
  if (node->id != i || node->graph != graph)
    return dp_fail(EX_DATAERR, "node '%s' is not at the index that its id says", node->name);
  for (int k = 0; k < node->n_inputs; k++) {
    const dp_value *x = node->inputs[k];
    if (!x) continue;
    if (!is_in(graph, x)) return dp_fail(EX_DATAERR, "node '%s' has an operand of another graph", node->name);
    if (x->producer && x->producer->id >= i)
      return dp_fail(EX_DATAERR, "node '%s' uses '%s' before it is computed: the graph has a cycle or is out of order",
                     node->name, x->name);
  }
  for (int k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] && (!is_in(graph, node->outputs[k]) || node->outputs[k]->producer != node))
      return dp_fail(EX_DATAERR, "node '%s' has a result of another node", node->name);
  return DP_OK;
}

static dp_status check_node(const dp_graph *graph, int32_t i) {
  dp_node *node = graph->nodes[i];
  DP_TRY(check_links(graph, i));
  // A body stays as it was made.
  if (node->body && !node->body->unchanged)
    DP_TRY(dp_status_context(dp_graph_verify(node->body), "the body of '%s'", node->name));
  if (node->body) node->body->unchanged = true;
  return check_types(graph, node);
}

// Values of the graph, each name once.
static dp_status check_outputs(const dp_graph *graph) {
  dp_arena *scratch = dp_arena_create(0);
  if (!scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
  dp_names *seen = dp_names_create(scratch);
  dp_status status = DP_OK;
  for (int i = 0; i < graph->n_outputs && !status; i++) {
    const dp_output *output = &graph->outputs[i];
    if (!is_in(graph, output->value))
      status = dp_fail(EX_DATAERR, "output '%s' is not in the graph", output->name);
    else if (dp_names_find(seen, output->name) >= 0)
      status = dp_fail(EX_DATAERR, "two outputs are called '%s'", output->name);
    else
      dp_names_add(seen, output->name, i);
  }
  dp_arena_destroy(scratch);
  return status;
}

static dp_status verify(const dp_graph *graph, dp_status (*check)(const dp_graph *graph, int32_t node)) {
  DP_TRY(check_names(graph));
  DP_TRY(check_scalars(graph));
  for (int32_t i = 0; i < graph->n_values; i++) DP_TRY(check_value(graph, i));
  for (int32_t i = 0; i < graph->n_nodes; i++) DP_TRY(check(graph, i));
  DP_TRY(check_outputs(graph));
  for (int i = 0; i < graph->n_updates; i++) {
    const dp_update *u = &graph->updates[i];
    if (u->variable < 0 || u->variable >= graph->model->n_variables || !is_in(graph, u->value))
      return dp_fail(EX_DATAERR, "update %d names a value that does not exist", i);
    const dp_variable *p = &graph->model->variables[u->variable];
    char a[256], b[256];
    if (!dp_type_equal(u->value->type, p->type))
      return dp_fail(EX_DATAERR, "'%s' is %s but its update '%s' is %s", p->name, dp_type_print(p->type, a, sizeof a),
                     u->value->name, dp_type_print(u->value->type, b, sizeof b));
  }
  return DP_OK;
}

dp_status dp_graph_verify(const dp_graph *graph) { return verify(graph, check_node); }

dp_status dp_graph_verify_links(const dp_graph *graph) { return verify(graph, check_links); }
