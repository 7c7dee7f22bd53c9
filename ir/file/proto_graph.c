// Converts graphs to and from messages. See proto.h.
#include <string.h>

#include "ir/base/limits.h"
#include "ir/base/names.h"
#include "ir/file/proto_private.h"
#include "ir/graph/op.h"

// ---- to messages ----------------------------------------------------------------------------------------------------

static Dp__Value *from_value(dp_arena *arena, dp_proto_shared *shared, const dp_value *value) {
  Dp__Value *message = DP_PROTO_NEW(arena, Dp__Value, dp__value);
  message->name = dp_proto_string(value->name);
  message->kind = value->kind;
  message->type = dp_proto_shared_type(shared, value->type);
  if (value->kind == DP_VALUE_CONSTANT) message->constant = dp_proto_from_tensor(arena, value->constant);
  if (value->kind == DP_VALUE_VARIABLE) message->variable = (uint32_t)value->variable;
  return message;
}

static uint32_t *from_operands(dp_arena *arena, int count, dp_value *const *values) {
  uint32_t *numbers = dp_alloc_n(arena, (size_t)count, sizeof *numbers);
  for (int i = 0; i < count; i++) numbers[i] = values[i] ? (uint32_t)values[i]->id + 1 : 0;
  return numbers;
}

static Dp__Node *from_node(dp_arena *arena, dp_proto_shared *shared, const dp_node *node) {
  Dp__Node *message = DP_PROTO_NEW(arena, Dp__Node, dp__node);
  message->op = dp_proto_string(node->op->name);
  message->domain = dp_proto_string(node->op->domain);
  message->name = dp_proto_string(node->name);
  message->n_inputs = (size_t)node->n_inputs;
  message->inputs = from_operands(arena, node->n_inputs, node->inputs);
  message->n_outputs = (size_t)node->n_outputs;
  message->outputs = from_operands(arena, node->n_outputs, node->outputs);
  dp_proto_shared_attrs(shared, node->n_attrs, node->attrs, &message->n_attributes, &message->attributes);
  message->device = node->device + 1;
  message->stage = node->stage + 1;
  message->n_constraints = (size_t)node->n_constraints;
  message->constraints = dp_proto_from_constraints(arena, node->n_constraints, node->constraints);
  return message;
}

static void from_ends(dp_arena *arena, const dp_graph *graph, Dp__Graph *message) {
  message->n_outputs = (size_t)graph->n_outputs;
  message->outputs = dp_alloc_n(arena, message->n_outputs, sizeof *message->outputs);
  for (int i = 0; i < graph->n_outputs; i++) {
    message->outputs[i] = DP_PROTO_NEW(arena, Dp__NamedValue, dp__named_value);
    message->outputs[i]->name = dp_proto_string(graph->outputs[i].name);
    message->outputs[i]->value = (uint32_t)graph->outputs[i].value->id;
  }
  message->n_updates = (size_t)graph->n_updates;
  message->updates = dp_alloc_n(arena, message->n_updates, sizeof *message->updates);
  for (int i = 0; i < graph->n_updates; i++) {
    message->updates[i] = DP_PROTO_NEW(arena, Dp__Update, dp__update);
    message->updates[i]->variable = (uint32_t)graph->updates[i].variable;
    message->updates[i]->value = (uint32_t)graph->updates[i].value->id;
  }
}

Dp__Graph *dp_proto_shared_graph(dp_proto_shared *shared, const dp_graph *graph) {
  dp_arena *arena = dp_proto_shared_arena(shared);
  Dp__Graph *message = DP_PROTO_NEW(arena, Dp__Graph, dp__graph);
  message->name = dp_proto_string(graph->name);
  message->n_values = (size_t)graph->n_values;
  message->values = dp_alloc_n(arena, message->n_values, sizeof *message->values);
  for (int32_t i = 0; i < graph->n_values; i++) message->values[i] = from_value(arena, shared, graph->values[i]);
  message->n_nodes = (size_t)graph->n_nodes;
  message->nodes = dp_alloc_n(arena, message->n_nodes, sizeof *message->nodes);
  for (int32_t i = 0; i < graph->n_nodes; i++) message->nodes[i] = from_node(arena, shared, graph->nodes[i]);
  from_ends(arena, graph, message);
  return message;
}

Dp__Graph *dp_proto_from_graph(dp_arena *arena, const dp_graph *graph) {
  dp_proto_shared *shared = dp_proto_shared_create(arena);
  Dp__Graph *message = dp_proto_shared_graph(shared, graph);
  dp_proto_shared_destroy(shared);
  return message;
}

// ---- values ---------------------------------------------------------------------------------------------------------

// The fields that a value needs for its kind, beyond its type.
static dp_status complete_value(dp_graph *graph, const Dp__Value *message, dp_value *value) {
  const dp_type *own = value->type;
  if (message->constant && value->kind != DP_VALUE_CONSTANT) return dp_fail(EX_DATAERR, "only a constant has data");
  if (message->variable && value->kind != DP_VALUE_VARIABLE)
    return dp_fail(EX_DATAERR, "it is not a variable but names one");
  if (value->kind == DP_VALUE_CONSTANT) {
    DP_TRY(dp_proto_to_tensor(graph->arena, message->constant, &value->constant));
    own = dp_model_type(graph->model, &(dp_type){value->constant->dtype, dp_tensor_shape(value->constant)});
  } else if (value->kind == DP_VALUE_VARIABLE) {
    if (message->variable >= (uint32_t)graph->model->n_variables)
      return dp_fail(EX_DATAERR, "variable %u of %d", message->variable, graph->model->n_variables);
    value->variable = (int32_t)message->variable;
    own = graph->model->variables[value->variable].type;
  } else if (value->kind == DP_VALUE_SCALAR) {
    if (!dp_graph_is_scalar(value->name)) return dp_fail(EX_DATAERR, "there is no per-step scalar of this name");
    own = dp_model_type(graph->model, &(dp_type){strcmp(value->name, DP_SCALAR_LR) ? DP_INT64 : DP_FLOAT64, {0}});
  }
  char said[256], is[256];
  if (dp_type_equal(own, value->type)) return DP_OK;
  return dp_fail(EX_DATAERR, "it is declared %s but is %s", dp_type_print(value->type, said, sizeof said),
                 dp_type_print(own, is, sizeof is));
}

static dp_status to_value(dp_graph *graph, const Dp__Value *message) {
  dp_type type = {DP_NO_TYPE, {0}};
  if (!*message->name) return dp_fail(EX_DATAERR, "its name is empty");
  if (dp_graph_find_value(graph, message->name)) return dp_fail(EX_DATAERR, "another value has this name");
  if (message->kind < DP_VALUE_RESULT || message->kind > DP_VALUE_VARIABLE)
    return dp_fail(EX_DATAERR, "kind %d is unknown", message->kind);
  if (message->kind != DP_VALUE_VARIABLE && !strcmp(graph->name, "main") &&
      dp_model_find_variable(graph->model, message->name) >= 0)
    return dp_fail(EX_DATAERR, "a parameter or buffer has this name");
  if (message->kind != DP_VALUE_RESULT || message->type) DP_TRY(dp_proto_to_type(message->type, &type));
  return complete_value(graph, message,
                        dp_graph_add_value_named(graph, (dp_value_kind)message->kind, message->name, &type));
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

static dp_status to_operands(const dp_graph *graph, size_t count, const uint32_t *numbers, dp_value **values) {
  if (count > DP_MAX_OPERANDS)
    return dp_fail(EX_DATAERR, "%zu operands or results; at most %d are supported", count, DP_MAX_OPERANDS);
  for (size_t i = 0; i < count; i++) {
    if (numbers[i] > (uint32_t)graph->n_values)
      return dp_fail(EX_DATAERR, "it names value %u of %d", numbers[i] - 1, graph->n_values);
    values[i] = numbers[i] ? graph->values[numbers[i] - 1] : NULL;
  }
  return DP_OK;
}

static dp_status take_results(dp_node *node, size_t count, dp_value *const *results) {
  node->n_outputs = (int)count;
  node->outputs = dp_memdup(node->graph->arena, results, count * sizeof *results);
  for (size_t i = 0; i < count; i++) {
    dp_value *v = results[i];
    if (!v) continue;
    if (v->kind != DP_VALUE_RESULT) return dp_fail(EX_DATAERR, "'%s' is not the result of a node", v->name);
    if (v->producer) return dp_fail(EX_DATAERR, "'%s' is already a result of node '%s'", v->name, v->producer->name);
    v->producer = node;
    v->result = (int)i;
  }
  return DP_OK;
}

// Infers the results' types and compares them with those that the message gives.
static dp_status infer(dp_node *node) {
  const dp_type *said[DP_MAX_OPERANDS] = {0};
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i]) said[i] = node->outputs[i]->type;
  DP_TRY(dp_op_infer(node));
  for (int i = 0; i < node->n_outputs; i++) {
    if (!node->outputs[i] || !said[i]->dtype || dp_type_equal(said[i], node->outputs[i]->type)) continue;
    char a[256], b[256];
    return dp_fail(EX_DATAERR, "'%s' is declared %s but is %s", node->outputs[i]->name,
                   dp_type_print(said[i], a, sizeof a), dp_type_print(node->outputs[i]->type, b, sizeof b));
  }
  return DP_OK;
}

static dp_status to_node(dp_graph *graph, const Dp__Node *message) {
  dp_value *operands[DP_MAX_OPERANDS], *results[DP_MAX_OPERANDS];
  dp_attr *attrs;
  int n_attrs;
  if (!*message->name) return dp_fail(EX_DATAERR, "its name is empty");
  if (dp_names_find(graph->node_names, message->name) >= 0) return dp_fail(EX_DATAERR, "another node has this name");
  const dp_op *op = dp_op_find(message->domain, message->op);
  if (!op)
    return dp_fail(EX_DATAERR, "there is no operator %s%s%s", message->domain, *message->domain ? "." : "",
                   message->op);
  if (message->device < 0 || message->stage < 0) return dp_fail(EX_DATAERR, "its device or stage is negative");
  DP_TRY(to_operands(graph, message->n_inputs, message->inputs, operands));
  DP_TRY(to_operands(graph, message->n_outputs, message->outputs, results));
  for (size_t i = 0; i < message->n_inputs; i++)
    if (operands[i] && operands[i]->kind == DP_VALUE_RESULT && !operands[i]->producer)
      return dp_fail(EX_DATAERR, "it uses '%s' before it is computed: the graph has a cycle or is out of order",
                     operands[i]->name);
  DP_TRY(dp_proto_to_attrs(graph->arena, message->n_attributes, message->attributes, &n_attrs, &attrs));
  dp_node *node = dp_graph_add_node_named(graph, op, message->name, (int)message->n_inputs, operands, n_attrs, attrs);
  node->device = message->device - 1;
  node->stage = message->stage - 1;
  DP_TRY(take_results(node, message->n_outputs, results));
  DP_TRY(infer(node));
  if (!message->n_constraints) return DP_OK;
  if (!node->n_outputs || !node->outputs[0]) return dp_fail(EX_DATAERR, "its first result is pinned, but omitted");
  return dp_proto_to_constraints(graph->arena, message->n_constraints, message->constraints,
                                 &node->outputs[0]->type->shape, &node->n_constraints, &node->constraints);
}

// ---- from messages --------------------------------------------------------------------------------------------------

static dp_status to_ends(dp_graph *graph, const Dp__Graph *message) {
  for (size_t i = 0; i < message->n_outputs; i++) {
    const Dp__NamedValue *m = message->outputs[i];
    if (!*m->name || m->value >= (uint32_t)graph->n_values)
      return dp_fail(EX_DATAERR, "output '%s' has no name, or names value %u of %d", m->name, m->value,
                     graph->n_values);
    dp_graph_add_output(graph, m->name, graph->values[m->value]);
  }
  bool *updated = dp_alloc_n(graph->arena, (size_t)graph->model->n_variables, sizeof *updated);
  for (size_t i = 0; i < message->n_updates; i++) {
    const Dp__Update *m = message->updates[i];
    if (m->variable >= (uint32_t)graph->model->n_variables || m->value >= (uint32_t)graph->n_values)
      return dp_fail(EX_DATAERR, "update %zu names variable %u of %d, value %u of %d", i, m->variable,
                     graph->model->n_variables, m->value, graph->n_values);
    if (updated[m->variable])
      return dp_fail(EX_DATAERR, "'%s' is updated twice", graph->model->variables[m->variable].name);
    updated[m->variable] = true;
    dp_graph_append_update(graph, (int32_t)m->variable, graph->values[m->value]);
  }
  return DP_OK;
}

static dp_status fill_graph(dp_graph *graph, const Dp__Graph *message) {
  if (message->n_values > DP_LIMIT_VALUES || message->n_nodes > DP_LIMIT_NODES || message->n_outputs > DP_LIMIT_OUTPUTS)
    return dp_fail(EX_DATAERR, "%zu values, %zu nodes, %zu outputs; the limits are %d, %d and %d", message->n_values,
                   message->n_nodes, message->n_outputs, DP_LIMIT_VALUES, DP_LIMIT_NODES, DP_LIMIT_OUTPUTS);
  for (size_t i = 0; i < message->n_values; i++)
    DP_TRY(dp_status_context(to_value(graph, message->values[i]), "value %zu '%s'", i, message->values[i]->name));
  for (size_t i = 0; i < message->n_nodes; i++)
    DP_TRY(dp_status_context(to_node(graph, message->nodes[i]), "node %zu '%s'", i, message->nodes[i]->name));
  DP_TRY(to_ends(graph, message));
  return dp_graph_verify_links(graph);  // to_node has inferred all types
}

dp_status dp_proto_to_graph(dp_model *model, const Dp__Graph *message, dp_graph **graph) {
  if (!*message->name) return dp_fail(EX_DATAERR, "a graph has no name");
  dp_graph *g = dp_graph_create(model, message->name);
  DP_TRY(dp_status_context(fill_graph(g, message), "graph '%s'", message->name));
  *graph = g;
  return DP_OK;
}
