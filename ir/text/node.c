// Nodes in the text form: `y: float32[N,10], _ = Op(a, _, c) {attributes} [notes]`.
#include <string.h>

#include "ir/base/limits.h"
#include "ir/base/names.h"
#include "ir/base/suggest.h"
#include "ir/text/syntax.h"

// ---- names ----------------------------------------------------------------------------------------------------------

dp_status dp_text_node_new_name(const dp_text_lex *lex, dp_text_location location, const dp_graph *graph,
                                const char *name) {
  if (dp_graph_find_value(graph, name))
    return dp_text_lex_fail_at(lex, location, "the name '%s' is already used by another value", name);
  if (!strcmp(graph->name, "main") && dp_model_find_variable(graph->model, name) >= 0)
    return dp_text_lex_fail_at(lex, location, "the name '%s' is already used by a parameter or buffer", name);
  return DP_OK;
}

static dp_status unknown_value(const dp_text_lex *lex, const dp_graph *graph, const char *name) {
  char hint[96];
  dp_suggest suggest = dp_suggest_begin(name);
  for (int32_t i = 0; i < graph->n_values; i++) dp_suggest_offer(&suggest, graph->values[i]->name);
  for (int32_t i = 0; i < graph->model->n_variables; i++) dp_suggest_offer(&suggest, graph->model->variables[i].name);
  return dp_text_lex_fail(lex, "no value is called '%s' at this point%s", name,
                          dp_suggest_print(&suggest, hint, sizeof hint));
}

dp_status dp_text_node_operand(dp_text_lex *lex, dp_graph *graph, dp_value **value) {
  dp_text_lex before = *lex;
  const char *name;
  DP_TRY(dp_text_lex_take_name(lex, "the name of a value", &name));
  dp_value *found = dp_graph_find_value(graph, name);
  int32_t variable = dp_model_find_variable(graph->model, name);
  if (!found && variable >= 0) found = dp_graph_variable(graph, variable);
  if (!found && dp_graph_is_scalar(name)) found = dp_graph_scalar(graph, name);
  if (!found) return unknown_value(&before, graph, name);
  *value = found;
  return DP_OK;
}

static dp_status parse_op(dp_text_lex *lex, const dp_op **op) {
  dp_text_lex before = *lex;
  const char *name;
  DP_TRY(dp_text_lex_take_name(lex, "an operator", &name));
  bool ours = !strncmp(name, "dp.", 3);
  *op = dp_op_find(ours ? "dp" : "", ours ? name + 3 : name);
  if (*op) return DP_OK;
  char hint[96];
  dp_suggest suggest = dp_suggest_begin(name);
  for (const dp_op *const *o = dp_op_table; *o; o++)
    dp_suggest_offer(&suggest, *(*o)->domain ? dp_printf(lex->arena, "%s.%s", (*o)->domain, (*o)->name) : (*o)->name);
  return dp_text_lex_fail(&before, "there is no operator '%s'%s", name, dp_suggest_print(&suggest, hint, sizeof hint));
}

// ---- results --------------------------------------------------------------------------------------------------------

typedef struct {
  const char *name;  // NULL: `_`, not requested
  dp_text_location location;
  dp_type type;  // dtype DP_NO_TYPE: not given
  dp_text_notes notes;
  dp_text_location notes_location;
} result;

static dp_status parse_result(dp_text_lex *lex, const dp_graph *graph, const result *before, int n_before, result *r) {
  r->location = dp_text_lex_location(lex);
  if (dp_text_lex_is(lex, "_")) {
    r->notes.n_placements = -1;
    return dp_text_lex_next(lex);
  }
  DP_TRY(dp_text_lex_take_name(lex, "the name of a result", &r->name));
  DP_TRY(dp_text_node_new_name(lex, r->location, graph, r->name));
  for (int i = 0; i < n_before; i++)
    if (before[i].name && !strcmp(before[i].name, r->name))
      return dp_text_lex_fail_at(lex, r->location, "two results of this node are called '%s'", r->name);
  bool typed;
  DP_TRY(dp_text_lex_try(lex, ":", &typed));
  if (typed) DP_TRY(dp_text_type_parse(lex, &r->type));
  r->notes_location = dp_text_lex_location(lex);
  return dp_text_notes_parse(lex, DP_TEXT_OF_VALUE, &r->notes);
}

static dp_status check_type(const dp_text_lex *lex, const result *r, const dp_value *value) {
  if (!r->type.dtype || dp_type_equal(&r->type, value->type)) return DP_OK;
  char said[256], is[256];
  return dp_text_lex_fail_at(lex, r->location, "'%s' is declared %s but is %s", r->name,
                             dp_type_print(&r->type, said, sizeof said), dp_type_print(value->type, is, sizeof is));
}

static dp_status take_value_notes(const dp_text_lex *lex, dp_text_location location, const dp_text_notes *notes,
                                  dp_value *value, dp_graph *graph) {
  dp_placement placements[DP_MAX_MESH] = {0};
  DP_TRY(dp_text_notes_set_placements(lex, location, notes, value->type, &graph->model->mesh, placements));
  dp_value_place(graph, value, placements);
  value->micro_first = notes->micro[0];
  value->micro_count = notes->micro[1];
  value->space = (dp_space)notes->space;
  value->layout = (dp_layout)notes->layout;
  value->offset = notes->offset;
  value->bytes = notes->bytes;
  if (!notes->logical) return DP_OK;
  if (!graph->logical)
    return dp_text_lex_fail_at(lex, location, "this graph has no logical graph that '%s' could belong to",
                               notes->logical);
  value->logical = dp_graph_find_value(graph->logical, notes->logical);
  return value->logical ? DP_OK
                        : dp_text_lex_fail_at(lex, location, "the logical graph has no value '%s'", notes->logical);
}

dp_status dp_text_node_value_notes(dp_text_lex *lex, dp_value *value, dp_graph *graph) {
  dp_text_notes notes;
  dp_text_location location = dp_text_lex_location(lex);
  DP_TRY(dp_text_notes_parse(lex, DP_TEXT_OF_VALUE, &notes));
  return take_value_notes(lex, location, &notes, value, graph);
}

// ---- the node's own notes -------------------------------------------------------------------------------------------

static dp_status find_stream(const dp_text_lex *lex, dp_text_location location, const dp_graph *graph, const char *name,
                             int *stream) {
  for (int i = 0; i < graph->n_streams; i++)
    if (!strcmp(graph->streams[i], name)) {
      *stream = i;
      return DP_OK;
    }
  return dp_text_lex_fail_at(lex, location, "no stream of this graph is called '%s'", name);
}

static dp_status take_node_notes(const dp_text_lex *lex, dp_text_location location, const dp_text_notes *notes,
                                 dp_node *node) {
  const dp_graph *graph = node->graph;
  node->device = (int)notes->device;
  node->stage = (int)notes->stage;
  node->n_constraints = notes->n_constraints;
  node->constraints = notes->constraints;
  if (node->n_constraints && !node->outputs[0])
    return dp_text_lex_fail_at(lex, location, "'shard' applies to the node's first result, which is omitted");
  if (node->n_constraints)
    DP_TRY(dp_text_constraints_check(lex, location, &node->outputs[0]->type->shape, node->n_constraints,
                                     node->constraints));
  node->kernel = notes->kernel;
  node->threads = (int)notes->threads;
  node->scratch_offset = notes->scratch_offset;
  node->scratch_bytes = notes->scratch_bytes;
  node->packed_offset = notes->packed_offset;
  node->packed_bytes = notes->packed_bytes;
  node->n_waits = notes->n_waits;
  node->waits = notes->waits;
  node->signal = (int)notes->signal;
  for (int i = -1; i < node->n_waits; i++) {
    int event = i < 0 ? node->signal : node->waits[i];
    if (event >= graph->n_events)
      return dp_text_lex_fail_at(lex, location, "event %d is used, but this graph has %d events", event,
                                 graph->n_events);
  }
  if (notes->stream) DP_TRY(find_stream(lex, location, graph, notes->stream, &node->stream));
  if (!notes->logical) return DP_OK;
  int32_t logical = graph->logical ? dp_names_find(graph->logical->node_names, notes->logical) : -1;
  if (logical < 0) return dp_text_lex_fail_at(lex, location, "there is no logical node '%s'", notes->logical);
  node->logical = graph->logical->nodes[logical];
  return DP_OK;
}

// ---- the node -------------------------------------------------------------------------------------------------------

static dp_status parse_operands(dp_text_lex *lex, dp_graph *graph, const dp_op *op, int *count, dp_value ***operands) {
  DP_TRY(dp_text_lex_take(lex, "("));
  while (!dp_text_lex_is(lex, ")")) {
    if (*count == DP_MAX_OPERANDS && !op->variadic_results)
      return dp_text_lex_fail(lex, "a node takes at most %d operands", DP_MAX_OPERANDS);
    if (*count) DP_TRY(dp_text_lex_take(lex, ","));
    dp_value *value = NULL;
    DP_TRY(dp_text_lex_is(lex, "_") ? dp_text_lex_next(lex) : dp_text_node_operand(lex, graph, &value));
    DP_PUSH(lex->arena, *operands, *count, value);
  }
  return dp_text_lex_next(lex);
}

static dp_status name_node(const dp_text_lex *lex, const dp_graph *graph, dp_text_location location,
                           const result *results, int n_results, const char **name) {
  for (int i = 0; i < n_results && !*name; i++) *name = results[i].name;
  if (!*name) return dp_text_lex_fail_at(lex, location, "a node without results needs a name: [name=...]");
  if (dp_names_find(graph->node_names, *name) >= 0)
    return dp_text_lex_fail_at(lex, location, "the name '%s' is already used by another node", *name);
  return DP_OK;
}

// `body { statements }`
static dp_status parse_body(dp_text_lex *lex, const dp_graph *graph, const dp_op *op, dp_graph **body) {
  if (op != dp_op_find("dp", "Region")) return dp_text_lex_fail(lex, "only dp.Region has a body");
  if (!graph->logical) return dp_text_lex_fail(lex, "only a program for devices has regions");
  if (lex->in_body) return dp_text_lex_fail(lex, "a region's body has no region of its own");
  DP_TRY(dp_text_lex_next(lex));
  dp_text_graph inner = dp_text_graph_begin(dp_graph_create_within(graph, "region"));
  inner.nested = true;
  inner.graph->logical = graph->logical;
  *body = inner.graph;
  lex->in_body = true;
  DP_TRY(dp_text_graph_block(lex, &inner));
  lex->in_body = false;
  return DP_OK;
}

static dp_status add_node(dp_text_lex *lex, dp_graph *graph, const result *results, int n_results) {
  dp_value **operands = NULL;
  const dp_op *op;
  int n_operands = 0, n_attrs = 0;
  dp_attr *attrs = NULL;
  dp_graph *body = NULL;
  dp_text_notes notes;
  dp_text_location location = dp_text_lex_location(lex);
  DP_TRY(parse_op(lex, &op));
  if (n_results > DP_MAX_OPERANDS && !op->variadic_results)
    return dp_text_lex_fail_at(lex, location, "a node has at most %d results", DP_MAX_OPERANDS);
  DP_TRY(parse_operands(lex, graph, op, &n_operands, &operands));
  bool braces;
  DP_TRY(dp_text_lex_try(lex, "{", &braces));
  if (braces) DP_TRY(dp_text_attr_parse(lex, op, "}", &n_attrs, &attrs));
  if (dp_text_lex_is(lex, "body") && dp_text_lex_next_is(lex, '{')) DP_TRY(parse_body(lex, graph, op, &body));
  DP_TRY(dp_text_notes_parse(lex, DP_TEXT_OF_NODE, &notes));
  DP_TRY(name_node(lex, graph, location, results, n_results, &notes.name));
  if (graph->n_nodes >= DP_LIMIT_NODES)
    return dp_text_lex_fail_at(lex, location, "a graph has at most %d nodes", DP_LIMIT_NODES);
  const char **names = dp_alloc_n(lex->arena, (size_t)n_results, sizeof *names);
  for (int i = 0; i < n_results; i++) names[i] = results[i].name;
  dp_node *node = dp_graph_add_node(graph, op, notes.name, n_operands, operands, n_results, names, n_attrs, attrs);
  node->body = body;
  DP_TRY(dp_text_lex_context(lex, location, dp_op_infer(node)));
  DP_TRY(take_node_notes(lex, location, &notes, node));
  for (int i = 0; i < n_results; i++) {
    if (!results[i].name) continue;
    DP_TRY(check_type(lex, &results[i], node->outputs[i]));
    DP_TRY(take_value_notes(lex, results[i].notes_location, &results[i].notes, node->outputs[i], graph));
  }
  return DP_OK;
}

dp_status dp_text_node_parse(dp_text_lex *lex, dp_graph *graph) {
  result first = {0}, *results = NULL;
  int n = 0;
  bool more;
  DP_TRY(parse_result(lex, graph, NULL, 0, &first));
  DP_TRY(dp_text_lex_try(lex, ",", &more));
  if (!more) {
    DP_TRY(dp_text_lex_take(lex, "="));
    return add_node(lex, graph, &first, 1);
  }
  DP_PUSH(lex->arena, results, n, first);
  while (more) {
    result one = {0};
    if (n == DP_LIMIT_OUTPUTS) return dp_text_lex_fail(lex, "a node has at most %d results", DP_LIMIT_OUTPUTS);
    DP_TRY(parse_result(lex, graph, results, n, &one));
    DP_PUSH(lex->arena, results, n, one);
    DP_TRY(dp_text_lex_try(lex, ",", &more));
  }
  DP_TRY(dp_text_lex_take(lex, "="));
  return add_node(lex, graph, results, n);
}
