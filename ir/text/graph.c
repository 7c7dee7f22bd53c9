// The statements of a graph in the text form: inputs, constants, nodes, outputs, updates, and what device form adds.
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "ir/base/limits.h"
#include "ir/base/names.h"
#include "ir/text/syntax.h"

enum { MAX_STREAMS = 256 };

dp_text_graph dp_text_graph_begin(dp_graph *graph) {
  return (dp_text_graph){graph, dp_names_create(graph->arena), dp_names_create(graph->arena), false};
}

// ---- values without producer ----------------------------------------------------------------------------------------

static dp_status parse_new_name(dp_text_lex *lex, const dp_graph *graph, const char **name) {
  dp_text_location location = dp_text_lex_location(lex);
  DP_TRY(dp_text_lex_take_name(lex, "a name", name));
  return dp_text_node_new_name(lex, location, graph, *name);
}

static dp_status parse_input(dp_text_lex *lex, dp_graph *graph) {
  const char *name;
  dp_type type;
  DP_TRY(parse_new_name(lex, graph, &name));
  DP_TRY(dp_text_lex_take(lex, ":"));
  DP_TRY(dp_text_type_parse(lex, &type));
  return dp_text_node_value_notes(lex, dp_graph_add_value(graph, DP_VALUE_INPUT, name, type), graph);
}

static dp_status parse_constant(dp_text_lex *lex, dp_graph *graph) {
  const char *name;
  dp_type type;
  const dp_tensor *tensor;
  bool word;
  DP_TRY(parse_new_name(lex, graph, &name));
  DP_TRY(dp_text_lex_take(lex, ":"));
  DP_TRY(dp_text_type_parse(lex, &type));
  DP_TRY(dp_text_lex_take(lex, "="));
  DP_TRY(dp_text_lex_try(lex, "tensor", &word));
  DP_TRY(dp_text_data_parse(lex, &type, &tensor));
  return dp_text_node_value_notes(lex, dp_graph_add_constant(graph, name, tensor), graph);
}

static dp_status parse_scalar(dp_text_lex *lex, dp_graph *graph) {
  dp_text_lex before = *lex;
  const char *name;
  dp_value *value;
  dp_type type;
  DP_TRY(parse_new_name(lex, graph, &name));
  dp_text_lex again = before;
  DP_TRY(dp_text_node_operand(&again, graph, &value));
  if (value->kind != DP_VALUE_SCALAR)
    return dp_text_lex_fail(
        &before, "the per-step scalars are " DP_SCALAR_STEP ", " DP_SCALAR_N ", " DP_SCALAR_LR " and " DP_SCALAR_SEED);
  DP_TRY(dp_text_lex_take(lex, ":"));
  DP_TRY(dp_text_type_parse(lex, &type));
  if (type.dtype != value->type->dtype || type.shape.rank)
    return dp_text_lex_fail(&before, "'%s' is %s[]", name, dp_type_name(value->type->dtype));
  return dp_text_node_value_notes(lex, value, graph);
}

static dp_status parse_known_variable(dp_text_lex *lex, const dp_graph *graph, int32_t *variable, const char **name) {
  dp_text_lex before = *lex;
  DP_TRY(dp_text_lex_take_name(lex, "a parameter, buffer, state or stored constant", name));
  *variable = dp_model_find_variable(graph->model, *name);
  return *variable < 0
             ? dp_text_lex_fail(&before, "the model has no parameter, buffer, state or stored constant '%s'", *name)
             : DP_OK;
}

// `persistent w = w`: the value that stands for a variable in the graph; needed where notes follow or the names differ.
static dp_status parse_variable(dp_text_lex *lex, dp_graph *graph) {
  const char *name, *of;
  int32_t variable;
  dp_text_location location = dp_text_lex_location(lex);
  DP_TRY(dp_text_lex_take_name(lex, "a name", &name));
  if (dp_graph_find_value(graph, name))
    return dp_text_lex_fail_at(lex, location, "the name '%s' is already used by another value", name);
  DP_TRY(dp_text_lex_take(lex, "="));
  DP_TRY(parse_known_variable(lex, graph, &variable, &of));
  dp_value *value = dp_graph_add_value(graph, DP_VALUE_VARIABLE, name, *graph->model->variables[variable].type);
  value->variable = variable;
  return dp_text_node_value_notes(lex, value, graph);
}

// ---- what a graph gives ---------------------------------------------------------------------------------------------

static dp_status parse_output(dp_text_lex *lex, dp_text_graph *reader) {
  dp_text_lex before = *lex;
  dp_graph *graph = reader->graph;
  const char *name;
  dp_value *value;
  bool other;
  DP_TRY(dp_text_lex_take_name(lex, "the name of an output", &name));
  if (dp_names_find(reader->outputs, name) >= 0)
    return dp_text_lex_fail(&before, "there is already an output '%s'", name);
  if (graph->n_outputs == DP_LIMIT_OUTPUTS)
    return dp_text_lex_fail(&before, "a graph has at most %d outputs", DP_LIMIT_OUTPUTS);
  DP_TRY(dp_text_lex_try(lex, "=", &other));
  if (!other) *lex = before;
  DP_TRY(dp_text_node_operand(lex, graph, &value));
  dp_graph_add_output(graph, name, value);
  dp_names_add(reader->outputs, graph->outputs[graph->n_outputs - 1].name, 0);
  return DP_OK;
}

static dp_status parse_update(dp_text_lex *lex, dp_text_graph *reader) {
  dp_text_lex before = *lex;
  dp_graph *graph = reader->graph;
  const char *name;
  dp_update update;
  DP_TRY(parse_known_variable(lex, graph, &update.variable, &name));
  if (dp_names_find(reader->updates, name) >= 0) return dp_text_lex_fail(&before, "'%s' is updated twice", name);
  dp_names_add(reader->updates, name, 0);
  DP_TRY(dp_text_lex_take(lex, "="));
  DP_TRY(dp_text_node_operand(lex, graph, &update.value));
  dp_graph_append_update(graph, update.variable, update.value);
  return DP_OK;
}

// ---- device form ----------------------------------------------------------------------------------------------------

static dp_status parse_streams(dp_text_lex *lex, dp_graph *graph) {
  if (graph->n_streams) return dp_text_lex_fail(lex, "the streams of this graph are named twice");
  for (bool more = true; more;) {
    const char *name;
    if (graph->n_streams == MAX_STREAMS) return dp_text_lex_fail(lex, "a graph has at most %d streams", MAX_STREAMS);
    DP_TRY(dp_text_lex_take_name(lex, "the name of a stream", &name));
    DP_PUSH(graph->arena, graph->streams, graph->n_streams, name);
    DP_TRY(dp_text_lex_try(lex, ",", &more));
  }
  return DP_OK;
}

static dp_status parse_events(dp_text_lex *lex, dp_graph *graph) {
  int64_t events;
  DP_TRY(dp_text_lex_take_count(lex, "how many events there are", INT_MAX, &events));
  graph->n_events = (int)events;
  return DP_OK;
}

static dp_status parse_stage(dp_text_lex *lex, dp_graph *graph) {
  int64_t stage;
  DP_TRY(dp_text_lex_take_count(lex, "the stage that runs this graph", INT_MAX, &stage));
  graph->stage = (int)stage;
  return DP_OK;
}

static dp_status parse_logical(dp_text_lex *lex, dp_text_graph *reader) {
  dp_graph *graph = reader->graph;
  if (reader->nested || graph->logical || graph->n_values || graph->n_nodes)
    return dp_text_lex_fail(lex, "a graph has one logical graph, at its start");
  const char *name;
  DP_TRY(dp_text_lex_take_name(lex, "the name of the logical graph", &name));
  dp_text_graph inner = dp_text_graph_begin(dp_graph_create(graph->model, name));
  inner.nested = true;
  DP_TRY(dp_text_graph_block(lex, &inner));
  graph->logical = inner.graph;
  return DP_OK;
}

// ---- statements -----------------------------------------------------------------------------------------------------

// A word opens its own statement unless what follows shows that it names a result.
static bool names_result(const dp_text_lex *lex) {
  return lex->kind == DP_TEXT_STRING || dp_text_lex_next_is(lex, '=') || dp_text_lex_next_is(lex, ',') ||
         dp_text_lex_next_is(lex, ':') || dp_text_lex_next_is(lex, '[');
}

dp_status dp_text_graph_statement(dp_text_lex *lex, dp_text_graph *reader) {
  static const char *const words[] = {"input",  "constant", "scalar", "persistent", "output",
                                      "update", "streams",  "events", "stage",      "logical"};
  dp_graph *graph = reader->graph;
  if ((lex->kind == DP_TEXT_NAME || lex->kind == DP_TEXT_STRING) && names_result(lex))
    return dp_text_node_parse(lex, graph);
  size_t word = 0;
  while (word < DP_COUNT(words) && !dp_text_lex_is(lex, words[word])) word++;
  if (word == DP_COUNT(words))
    return dp_text_lex_expected(lex, "a statement, like 'y = Relu(x)' or 'output y', or '}'");
  DP_TRY(dp_text_lex_next(lex));
  switch (word) {
    case 0:
      return parse_input(lex, graph);
    case 1:
      return parse_constant(lex, graph);
    case 2:
      return parse_scalar(lex, graph);
    case 3:
      return parse_variable(lex, graph);
    case 4:
      return parse_output(lex, reader);
    case 5:
      return parse_update(lex, reader);
    case 6:
      return parse_streams(lex, graph);
    case 7:
      return parse_events(lex, graph);
    case 8:
      return parse_stage(lex, graph);
    default:
      return parse_logical(lex, reader);
  }
}

dp_status dp_text_graph_block(dp_text_lex *lex, dp_text_graph *reader) {
  dp_text_location location = dp_text_lex_location(lex);
  DP_TRY(dp_text_lex_take(lex, "{"));
  while (!dp_text_lex_is(lex, "}")) DP_TRY(dp_text_graph_statement(lex, reader));
  DP_TRY(dp_text_lex_next(lex));
  return dp_text_lex_context(lex, location, dp_graph_verify(reader->graph));
}
