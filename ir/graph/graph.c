// Making and copying graphs. See graph.h.
#include "ir/graph/graph.h"

#include <string.h>

#include "ir/base/names.h"
#include "ir/graph/op.h"

// ---- model ----------------------------------------------------------------------------------------------------------

static const dp_placement replicated[DP_MAX_MESH];

// Few arrays of placements differ in a model. The last of each kind is shared; a kind is what they hash to.
enum { PLACEMENT_KINDS = 32 };

static void create_strings(dp_model *model) {
  model->tables = dp_arena_create_within(model->arena);
  model->strings = dp_names_create_keeping(model->tables, model->arena);
}

dp_model *dp_model_create(dp_arena *arena, const char *name) {
  dp_model *model = dp_alloc(arena, sizeof *model);
  model->arena = arena;
  model->name = dp_strdup(arena, name);
  model->symbol = "N";
  model->opset = 18;
  model->types = dp_types_create(arena);
  model->placements = dp_alloc_n(arena, PLACEMENT_KINDS, sizeof *model->placements);
  model->variable_names = dp_names_create(arena);
  create_strings(model);
  return model;
}

dp_graph *dp_model_find_graph(const dp_model *model, const char *name) {
  for (int i = 0; i < model->n_graphs; i++)
    if (!strcmp(model->graphs[i]->name, name)) return model->graphs[i];
  return NULL;
}

void dp_model_add_graph(dp_model *model, dp_graph *graph) {
  for (int i = 0; i < model->n_graphs; i++)
    if (!strcmp(model->graphs[i]->name, graph->name)) {
      model->graphs[i] = graph;
      return;
    }
  DP_PUSH(model->arena, model->graphs, model->n_graphs, graph);
}

const dp_type *dp_model_type(dp_model *model, const dp_type *type) { return dp_types_share(model->types, type); }

static bool are_equal(const dp_placement *a, const dp_placement *b) {
  for (int i = 0; i < DP_MAX_MESH; i++)
    if (!dp_placement_equal(a[i], b[i])) return false;
  return true;
}

const dp_placement *dp_model_placements(dp_model *model, const dp_placement placements[DP_MAX_MESH]) {
  unsigned kind = 0;
  for (int a = 0; a < DP_MAX_MESH; a++) kind = 5 * kind + 3 * placements[a].kind + (unsigned)placements[a].dim;
  const dp_placement **shared = &model->placements[kind % PLACEMENT_KINDS];
  if (!*shared || !are_equal(*shared, placements))
    *shared = dp_memdup(model->arena, placements, DP_MAX_MESH * sizeof *placements);
  return *shared;
}

int32_t dp_model_find_variable(const dp_model *model, const char *name) {
  return dp_names_find(model->variable_names, name);
}

int32_t dp_model_add_variable(dp_model *model, const dp_variable *variable) {
  dp_names_add(model->variable_names, variable->name, model->n_variables);
  dp_variable own = *variable;
  own.type = dp_model_type(model, variable->type);
  if (!own.placements) own.placements = replicated;
  DP_PUSH(model->arena, model->variables, model->n_variables, own);
  return model->n_variables - 1;
}

dp_status dp_variable_check_stages(const dp_variable *p, int64_t n_stages) {
  for (int i = 0; i < p->n_stages; i++)
    if (p->stages[i] < 0 || p->stages[i] >= n_stages || (i && p->stages[i] <= p->stages[i - 1]))
      return dp_fail(EX_DATAERR, "its stages must rise and lie below %lld; stage %d at index %d does not",
                     (long long)n_stages, p->stages[i], i);
  return DP_OK;
}

dp_status dp_variable_check_name(const dp_variable *p) {
  if (!*p->name) return dp_fail(EX_DATAERR, "its name is empty");
  if (!strcmp(p->name, "__metadata__"))
    return dp_fail(EX_DATAERR, "it cannot be called '%s': weights files (safetensors) reserve that name", p->name);
  if ((p->kind == DP_PARAMETER || p->kind == DP_BUFFER) && !strncmp(p->name, "dp.", 3))
    return dp_fail(EX_DATAERR, "'%s': names that begin with 'dp.' are reserved for the compiler", p->name);
  return DP_OK;
}

void dp_model_keep_variables(dp_model *model, int32_t count) {
  model->n_variables = count;
  dp_names_clear(model->variable_names);
  for (int32_t i = 0; i < count; i++) dp_names_add(model->variable_names, model->variables[i].name, i);
}

// ---- graph ----------------------------------------------------------------------------------------------------------

static dp_graph *create(dp_model *model, dp_arena *own, const char *name) {
  dp_graph *graph = dp_alloc(model->arena, sizeof *graph);
  graph->model = model;
  graph->arena = model->arena;
  graph->own = own;
  graph->stage = -1;
  graph->name = dp_strdup(model->arena, name);
  graph->tables = dp_arena_create_within(own);
  graph->value_names = dp_names_create_sharing(graph->tables, model->strings);
  graph->node_names = dp_names_create_sharing(graph->tables, model->strings);
  return graph;
}

dp_graph *dp_graph_create(dp_model *model, const char *name) {
  return create(model, dp_arena_create_within(model->arena), name);
}

dp_graph *dp_graph_create_within(const dp_graph *outer, const char *name) {
  return create(outer->model, outer->own, name);
}

void dp_graph_finish(dp_graph *graph) {
  dp_arena_destroy(graph->tables);
  graph->tables = NULL;
  graph->value_names = graph->node_names = NULL;
}

void dp_graph_free(dp_graph *graph) {
  dp_arena_destroy(graph->own);
  *graph = (dp_graph){.model = graph->model, .arena = graph->arena, .name = graph->name, .stage = graph->stage};
}

// The strings stay. A graph made later begins with none of them.
void dp_model_finish(dp_model *model) {
  for (int i = 0; i < model->n_graphs; i++) {
    dp_graph *graph = model->graphs[i];
    if (graph->logical) dp_graph_finish(graph->logical);
    dp_graph_finish(graph);
  }
  dp_arena_destroy(model->tables);
  create_strings(model);
}

// Several graphs may have one logical graph.
void dp_model_free_graphs(dp_model *model) {
  for (int i = 0; i < model->n_graphs; i++) {
    dp_graph *logical = model->graphs[i]->logical;
    if (logical && logical->own) dp_graph_free(logical);
    dp_graph_free(model->graphs[i]);
  }
  model->n_graphs = 0;
  model->graphs = NULL;
}

// How a name is entered: one of dp_names_enter and dp_names_enter_kept.
typedef const char *(*name_enter)(dp_names *names, const char *name, int32_t number);

static dp_value *add_value(dp_graph *graph, dp_value_kind kind, name_enter enter, const char *name,
                           const dp_type *type) {
  dp_value *value = dp_alloc(graph->own, sizeof *value);
  value->id = graph->n_values;
  value->kind = kind;
  value->name = enter(graph->value_names, name, value->id);
  value->type = type;
  value->variable = -1;
  value->placements = replicated;
  DP_PUSH(graph->own, graph->values, graph->n_values, value);
  return value;
}

dp_value *dp_graph_add_value(dp_graph *graph, dp_value_kind kind, const char *name, dp_type type) {
  return add_value(graph, kind, dp_names_enter, name, dp_model_type(graph->model, &type));
}

dp_value *dp_graph_add_value_named(dp_graph *graph, dp_value_kind kind, const char *name, const dp_type *type) {
  return add_value(graph, kind, dp_names_enter_kept, name, dp_model_type(graph->model, type));
}

dp_value *dp_graph_find_value(const dp_graph *graph, const char *name) {
  if (graph->value_names) {
    int32_t id = dp_names_find(graph->value_names, name);
    return id < 0 ? NULL : graph->values[id];
  }
  for (int32_t i = 0; i < graph->n_values; i++)
    if (!strcmp(graph->values[i]->name, name)) return graph->values[i];
  return NULL;
}

dp_value *dp_graph_add_constant(dp_graph *graph, const char *name, const dp_tensor *tensor) {
  dp_value *value =
      dp_graph_add_value(graph, DP_VALUE_CONSTANT, name, (dp_type){tensor->dtype, dp_tensor_shape(tensor)});
  value->constant = tensor;
  return value;
}

dp_value *dp_graph_variable(dp_graph *graph, int32_t variable) {
  const dp_variable *p = &graph->model->variables[variable];
  dp_value *value = dp_graph_find_value(graph, p->name);
  if (value && value->kind == DP_VALUE_VARIABLE && value->variable == variable) return value;
  value = dp_graph_add_value(graph, DP_VALUE_VARIABLE, p->name, *p->type);
  value->variable = variable;
  return value;
}

bool dp_graph_is_scalar(const char *name) {
  if (strncmp(name, "dp.", 3)) return false;
  static const char *const scalars[] = {DP_SCALAR_STEP, DP_SCALAR_N, DP_SCALAR_LR, DP_SCALAR_SEED};
  for (size_t i = 0; i < DP_COUNT(scalars); i++)
    if (!strcmp(scalars[i], name)) return true;
  return false;
}

dp_value *dp_graph_scalar(dp_graph *graph, const char *name) {
  dp_value *value = dp_graph_find_value(graph, name);
  if (value && value->kind == DP_VALUE_SCALAR) return value;
  dp_dtype dtype = strcmp(name, DP_SCALAR_LR) ? DP_INT64 : DP_FLOAT64;
  return dp_graph_add_value(graph, DP_VALUE_SCALAR, name, (dp_type){dtype, {0}});
}

static dp_node *add_node(dp_graph *graph, const dp_op *op, name_enter enter, const char *name, int n_inputs,
                         dp_value *const *inputs, int n_outputs, const char *const *output_names, int n_attrs,
                         const dp_attr *attrs) {
  static const dp_type none;
  dp_arena *arena = graph->own;
  dp_node *node = dp_alloc(arena, sizeof *node);
  node->id = graph->n_nodes;
  node->graph = graph;
  node->op = op;
  node->name = enter(graph->node_names, name, node->id);
  node->n_inputs = n_inputs;
  node->inputs = dp_memdup(arena, inputs, (size_t)n_inputs * sizeof *inputs);
  node->n_outputs = n_outputs;
  node->outputs = dp_alloc_n(arena, (size_t)n_outputs, sizeof *node->outputs);
  node->n_attrs = n_attrs;
  node->attrs = dp_memdup(arena, attrs, (size_t)n_attrs * sizeof *attrs);
  node->device = node->stage = node->signal = -1;
  DP_PUSH(arena, graph->nodes, graph->n_nodes, node);
  for (int i = 0; i < n_outputs; i++) {
    if (output_names && !output_names[i]) continue;
    const char *wanted = output_names ? output_names[i] : i ? dp_printf(arena, "%s:%d", node->name, i) : node->name;
    dp_value *value = add_value(graph, DP_VALUE_RESULT, output_names ? enter : dp_names_enter, wanted, &none);
    value->producer = node;
    value->result = i;
    node->outputs[i] = value;
  }
  return node;
}

dp_node *dp_graph_add_node(dp_graph *graph, const dp_op *op, const char *name, int n_inputs, dp_value *const *inputs,
                           int n_outputs, const char *const *output_names, int n_attrs, const dp_attr *attrs) {
  return add_node(graph, op, dp_names_enter, name, n_inputs, inputs, n_outputs, output_names, n_attrs, attrs);
}

dp_node *dp_graph_add_node_named(dp_graph *graph, const dp_op *op, const char *name, int n_inputs,
                                 dp_value *const *inputs, int n_attrs, dp_attr *attrs) {
  dp_node *node = add_node(graph, op, dp_names_enter_kept, name, n_inputs, inputs, 0, NULL, 0, NULL);
  node->n_attrs = n_attrs;
  node->attrs = attrs;
  return node;
}

void dp_value_place(dp_graph *graph, dp_value *value, const dp_placement placements[DP_MAX_MESH]) {
  value->placements = dp_model_placements(graph->model, placements);
}

void dp_graph_add_output(dp_graph *graph, const char *name, dp_value *value) {
  dp_output output = {name == value->name ? name : dp_strdup(graph->arena, name), value};
  DP_PUSH(graph->own, graph->outputs, graph->n_outputs, output);
}

void dp_graph_add_update(dp_graph *graph, int32_t variable, dp_value *value) {
  for (int i = 0; i < graph->n_updates; i++)
    if (graph->updates[i].variable == variable) {
      graph->updates[i].value = value;
      return;
    }
  dp_graph_append_update(graph, variable, value);
}

void dp_graph_append_update(dp_graph *graph, int32_t variable, dp_value *value) {
  dp_update update = {variable, value};
  DP_PUSH(graph->own, graph->updates, graph->n_updates, update);
}

void dp_node_set_results(dp_node *node, int n_results, dp_value *const *results) {
  node->n_outputs = n_results;
  node->outputs = dp_memdup(node->graph->own, results, (size_t)n_results * sizeof *results);
  for (int i = 0; i < n_results; i++) {
    results[i]->producer = node;
    results[i]->result = i;
  }
}

// ---- copying --------------------------------------------------------------------------------------------------------

static void copy_device_form(dp_value *to, const dp_value *from) {
  to->logical = from->logical;
  to->placements = from->placements;
  to->micro_first = from->micro_first;
  to->micro_count = from->micro_count;
  to->space = from->space;
  to->offset = from->offset;
  to->bytes = from->bytes;
}

dp_value *dp_graph_copy_value(dp_graph *dst, dp_value *value, dp_value **map) {
  if (map[value->id]) return map[value->id];
  dp_value *copy = dp_graph_add_value(dst, value->kind, value->name, *value->type);
  copy->constant = value->constant;
  copy->variable = value->variable;
  copy_device_form(copy, value);
  return map[value->id] = copy;
}

dp_value *dp_graph_copy_as_input(dp_graph *dst, dp_value *value, dp_value **map) {
  dp_value *copy = dp_graph_copy_value(dst, value, map);
  if (copy->kind == DP_VALUE_RESULT && !copy->producer) copy->kind = DP_VALUE_INPUT;
  return copy;
}

static const char *name_as(dp_arena *arena, const char *name, const char *suffix) {
  return *suffix ? dp_printf(arena, "%s%s", name, suffix) : name;
}

dp_node *dp_graph_copy_node(dp_graph *dst, const dp_node *node, dp_value **map) {
  return dp_graph_copy_node_as(dst, node, "", map);
}

dp_node *dp_graph_copy_node_as(dp_graph *dst, const dp_node *node, const char *suffix, dp_value **map) {
  dp_arena *arena = dst->own;
  dp_value *few_inputs[DP_MAX_OPERANDS] = {0}, **inputs = few_inputs;
  const char *few_names[DP_MAX_OPERANDS] = {0}, **names = few_names;
  if (node->n_inputs > DP_MAX_OPERANDS) inputs = dp_alloc_n(arena, (size_t)node->n_inputs, sizeof *inputs);
  if (node->n_outputs > DP_MAX_OPERANDS) names = dp_alloc_n(arena, (size_t)node->n_outputs, sizeof *names);
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]) inputs[i] = dp_graph_copy_value(dst, node->inputs[i], map);
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i]) names[i] = name_as(arena, node->outputs[i]->name, suffix);
  const bool kept = !*suffix && node->graph->model == dst->model;
  dp_node *copy =
      add_node(dst, node->op, kept ? dp_names_enter_kept : dp_names_enter, name_as(arena, node->name, suffix),
               node->n_inputs, inputs, node->n_outputs, names, node->n_attrs, node->attrs);
  copy->device = node->device;
  copy->stage = node->stage;
  copy->n_constraints = node->n_constraints;
  copy->constraints = node->constraints;
  copy->logical = node->logical;
  copy->body = node->body;
  copy->kernel = node->kernel;
  copy->stream = node->stream;
  copy->threads = node->threads;
  copy->scratch_offset = node->scratch_offset;
  copy->scratch_bytes = node->scratch_bytes;
  copy->packed_offset = node->packed_offset;
  copy->packed_bytes = node->packed_bytes;
  copy->n_waits = node->n_waits;
  if (node->n_waits) copy->waits = dp_memdup(arena, node->waits, (size_t)node->n_waits * sizeof *node->waits);
  copy->signal = node->signal;
  for (int i = 0; i < node->n_outputs; i++) {
    if (!node->outputs[i]) continue;
    copy->outputs[i]->type = dp_model_type(dst->model, node->outputs[i]->type);
    copy_device_form(copy->outputs[i], node->outputs[i]);
    map[node->outputs[i]->id] = copy->outputs[i];
  }
  return copy;
}

// ---- moving ---------------------------------------------------------------------------------------------------------

static dp_value *copy_result(dp_graph *dst, dp_node *node, const dp_value *y) {
  dp_value *copy = add_value(dst, DP_VALUE_RESULT, dp_names_enter_kept, y->name, y->type);
  copy->producer = node;
  copy->result = y->result;
  copy_device_form(copy, y);
  return copy;
}

static void move_result(dp_graph *dst, dp_value *y) {
  y->id = dst->n_values;
  dp_names_enter_kept(dst->value_names, y->name, y->id);
  DP_PUSH(dst->own, dst->values, dst->n_values, y);
}

static bool has_value(const dp_graph *graph, const dp_value *x) {
  return x->id < graph->n_values && graph->values[x->id] == x;
}

void dp_graph_move_node(dp_graph *dst, dp_node *node, const bool *stays, dp_value **map) {
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] && !has_value(dst, node->inputs[i])) node->inputs[i] = map[node->inputs[i]->id];
  node->graph = dst;
  node->id = dst->n_nodes;
  dp_names_enter_kept(dst->node_names, node->name, node->id);
  DP_PUSH(dst->own, dst->nodes, dst->n_nodes, node);
  for (int i = 0; i < node->n_outputs; i++) {
    dp_value *y = node->outputs[i];
    if (!y) continue;
    if (stays[y->id])
      node->outputs[i] = map[y->id] = copy_result(dst, node, y);
    else
      move_result(dst, y);
  }
}
