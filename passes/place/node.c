// Adds nodes to both graphs: by the chosen rows, or decomposed where no row fits. See place.h.
#include <string.h>

#include "ir/graph/builder.h"
#include "passes/place/place.h"
#include "passes/simplify/constants.h"

enum { SCRATCH_BYTES = 256 << 10 };

// ---- operands -------------------------------------------------------------------------------------------------------

dp_value *dp_place_node_operand(dp_place *place, dp_place_source *source, const dp_value *value) {
  dp_value **mapped = &source->map[value->id], *logical = *mapped;
  if (logical) return logical;
  dp_graph *graph = place->logical;
  if (value->kind == DP_VALUE_CONSTANT)
    logical = dp_graph_variable(graph, dp_constants_store(place->model, value->constant));
  else if (value->kind == DP_VALUE_VARIABLE)
    logical = dp_graph_variable(graph, value->variable);
  else if (value->kind == DP_VALUE_SCALAR)
    logical = dp_graph_scalar(graph, value->name);
  else
    logical = dp_graph_add_value(graph, DP_VALUE_INPUT, value->name, *value->type);
  dp_place_copy_of(place, logical)->uses += source->uses[value->id];
  dp_place_copy_source(place, logical);
  return *mapped = logical;
}

// ---- decomposition --------------------------------------------------------------------------------------------------

static int *count_uses(dp_arena *arena, const dp_graph *graph) {
  int *uses = dp_alloc_n(arena, (size_t)graph->n_values, sizeof *uses);
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      if (graph->nodes[i]->inputs[k]) uses[graph->nodes[i]->inputs[k]->id]++;
  return uses;
}

// Places the node's decomposition in its stead. *done is false when it has none.
static dp_status decompose(dp_place_choice *c, bool *done) {
  dp_place *place = c->place;
  const dp_node *node = c->node;
  dp_graph *pieces = dp_graph_create_within(place->device, "lowered");
  dp_builder builder = {.graph = pieces, .prefix = node->name};
  dp_value *in[DP_MAX_OPERANDS] = {0}, *out[DP_MAX_OPERANDS] = {0};
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i])
      in[i] = dp_graph_add_value(pieces, DP_VALUE_INPUT, node->inputs[i]->name, *node->inputs[i]->type);
  node->op->decompose(&builder, node, in, out);
  if (builder.status) return builder.status;
  *done = out[0] != NULL || !node->outputs[0];
  if (!*done) return DP_OK;
  for (int k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] && !out[k]) return dp_fail(EX_SOFTWARE, "result '%s' is missing", node->outputs[k]->name);
  dp_place_source source = {.graph = pieces, .uses = count_uses(place->scratch, pieces)};
  source.map = dp_alloc_n(place->scratch, (size_t)pieces->n_values, sizeof *source.map);
  source.update = dp_alloc_n(place->scratch, (size_t)pieces->n_values, sizeof *source.update);
  memset(source.update, 0xff, (size_t)pieces->n_values * sizeof *source.update);
  for (int i = 0; i < node->n_inputs; i++) {
    if (!in[i]) continue;
    source.map[in[i]->id] = c->in[i];
    dp_place_copy_of(place, c->in[i])->uses += source.uses[in[i]->id] - 1;
  }
  for (int k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] && out[k]->producer) {
      source.uses[out[k]->id] += c->source->uses[node->outputs[k]->id];
      source.update[out[k]->id] = c->source->update[node->outputs[k]->id];
    }
  if (out[0] && out[0]->producer) {
    out[0]->producer->n_constraints = node->n_constraints;
    out[0]->producer->constraints = node->constraints;
  }
  for (int32_t i = 0; i < pieces->n_nodes; i++) {
    pieces->nodes[i]->device = node->device;
    pieces->nodes[i]->stage = node->stage;
  }
  DP_TRY(dp_place_node_walk(place, &source));
  for (int k = 0; k < node->n_outputs; k++)
    if (node->outputs[k]) c->source->map[node->outputs[k]->id] = dp_place_node_operand(place, &source, out[k]);
  dp_graph_finish(pieces);
  return DP_OK;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

// Adds the node to both graphs, by the chosen rows.
static void add_node(dp_place_choice *c) {
  dp_place *place = c->place;
  const dp_node *node = c->node;
  dp_node *logical = dp_graph_copy_node(place->logical, node, c->source->map);
  dp_value *in[DP_MAX_OPERANDS] = {0};
  const char *names[DP_MAX_OPERANDS] = {0};
  int n_axes = place->model->mesh.n_axes;
  for (int i = 0; i < node->n_inputs; i++) {
    dp_placement to[DP_MAX_MESH] = {0};
    for (int a = 0; a < n_axes; a++) to[a] = c->rules[a]->in[i];
    if (c->in[i]) in[i] = dp_place_copy_convert(place, c->in[i], to);
  }
  for (int k = 0; k < node->n_outputs; k++) names[k] = logical->outputs[k] ? logical->outputs[k]->name : NULL;
  dp_node *device = dp_graph_add_node(place->device, node->op, logical->name, node->n_inputs, in, node->n_outputs,
                                      names, logical->n_attrs, logical->attrs);
  device->logical = logical;
  device->device = node->device;
  device->stage = node->stage;
  for (int k = 0; k < node->n_outputs; k++) {
    dp_value *y = device->outputs[k];
    if (!y) continue;
    y->type = logical->outputs[k]->type;
    y->space = DP_SPACE_TRANSIENT;
    dp_placement placements[DP_MAX_MESH] = {0};
    for (int a = 0; a < n_axes; a++) placements[a] = c->rules[a]->out[k];
    dp_value_place(place->device, y, placements);
    dp_place_copy_of(place, logical->outputs[k])->uses += c->source->uses[node->outputs[k]->id];
    dp_place_copy_add(place, logical->outputs[k], y);
  }
}

// An operator that updates in place must update the variable whose new value is its result.
static dp_status check_update(const dp_place_choice *c) {
  const dp_node *node = c->node;
  for (int k = 0; k < node->n_outputs; k++) {
    if (!node->outputs[k]) continue;
    int32_t p = c->source->update[node->outputs[k]->id];
    const dp_value *x = k < node->n_inputs ? c->in[k] : NULL;
    if (p < 0 || !x || x->kind != DP_VALUE_VARIABLE || x->variable != p)
      return dp_fail(EX_DATAERR,
                     "node '%s' (%s): result '%s' overwrites operand %d, which must be the parameter or state that the "
                     "program updates with it",
                     node->name, node->op->name, node->outputs[k]->name, k + 1);
  }
  return DP_OK;
}

static dp_status check_constraints(const dp_place *place, const dp_node *node) {
  for (int i = 0; i < node->n_constraints; i++) {
    const int axis = dp_mesh_find(&place->model->mesh, node->constraints[i].axis);
    if (axis < 0) continue;
    const dp_mesh_axis *on = &place->model->mesh.axes[axis];
    if (dp_mesh_is_staged(on) || dp_mesh_is_sequential(on))
      return dp_fail(EX_CONFIG, "node '%s' is annotated for mesh axis '%s', over which no tensor is split", node->name,
                     on->name);
  }
  return DP_OK;
}

static dp_status place_node(dp_place *place, dp_place_source *source, const dp_node *node) {
  dp_place_choice c = {.place = place, .source = source, .node = node};
  if (node->n_inputs > DP_MAX_OPERANDS || node->n_outputs > DP_MAX_OPERANDS)
    return dp_fail(EX_UNAVAILABLE, "node '%s' (%s) has %d operands; at most %d are supported", node->name,
                   node->op->name, node->n_inputs, DP_MAX_OPERANDS);
  DP_TRY(dp_place_skip(place, source, node));
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]) c.in[i] = dp_place_node_operand(place, source, node->inputs[i]);
  if (dp_op_is(node->op, DP_OP_UPDATE)) DP_TRY(check_update(&c));
  DP_TRY(check_constraints(place, node));
  for (int k = 0; k < node->n_outputs; k++) {
    int32_t p = node->outputs[k] ? source->update[node->outputs[k]->id] : -1;
    if (p >= 0) c.storage[k] = place->model->variables[p].placements;
  }
  for (int a = 0; a < place->model->mesh.n_axes; a++) DP_TRY(dp_place_rows_choose(&c, a));
  bool done = false;
  if (c.decompose)
    DP_TRY(dp_status_context(decompose(&c, &done), "node '%s' (%s), decomposed", node->name, node->op->name));
  if (!done && c.unmet) return dp_place_rows_unmet(&c);
  if (!done) add_node(&c);
  return DP_OK;
}

dp_status dp_place_node_walk(dp_place *place, dp_place_source *source) {
  bool outermost = !place->scratch;
  dp_status status = DP_OK;
  for (int32_t i = 0; i < source->graph->n_nodes && !status; i++) {
    if (outermost && (!place->scratch || dp_arena_bytes(place->scratch) > SCRATCH_BYTES)) {
      dp_arena_destroy(place->scratch);
      place->scratch = dp_arena_create(0);
      if (!place->scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
    }
    if (outermost && place->starts) place->starts[i] = place->device->n_nodes;
    status = place_node(place, source, source->graph->nodes[i]);
  }
  if (outermost) {
    dp_arena_destroy(place->scratch);
    place->scratch = NULL;
  }
  return status;
}

dp_value *dp_place_node_identity(dp_place *place, dp_value *device, int stage) {
  const char *name = dp_printf(place->tables, "%s/Identity", device->logical->name);
  const dp_op *op = dp_op_find("", "Identity");
  dp_node *logical = dp_graph_add_node(place->logical, op, name, 1, &device->logical, 1, NULL, 0, NULL);
  dp_node *node = dp_graph_add_node(place->device, op, name, 1, &device, 1, NULL, 0, NULL);
  dp_value *y = node->outputs[0];
  logical->outputs[0]->type = y->type = device->type;
  node->logical = logical;
  node->stage = logical->stage = stage;
  y->space = DP_SPACE_TRANSIENT;
  y->placements = device->placements;
  dp_place_copy_add(place, logical->outputs[0], y);
  return y;
}
