// place: gives every value of every program its place on the mesh, and inserts the communication. See place.h.
#include "passes/place.h"

#include <string.h>

#include "passes/constants.h"
#include "passes/list.h"

// ---- what the strategy asks for -------------------------------------------------------------------------------------

// Data parallel: inputs are split along their batch extent on the axis `data`.
static void wanted_input(const dp_place *place, const dp_value *input, dp_placement wanted[DP_MAX_MESH]) {
  memset(wanted, 0, DP_MAX_MESH * sizeof *wanted);
  int axis = dp_mesh_find(place->mesh, "data");
  if (axis < 0 || place->mesh->axes[axis].size == 1) return;
  for (int d = 0; d < input->type.shape.rank; d++)
    if (dp_dim_equal(input->type.shape.dims[d], dp_dim_batch())) {
      wanted[axis] = dp_shard(d);
      return;
    }
}

// Persistent values are replicated but for the user's pins.
static dp_status place_homes(dp_model *model) {
  for (int32_t i = 0; i < model->n_persistents; i++) {
    dp_persistent *p = &model->persistents[i];
    memset(p->placements, 0, sizeof p->placements);
    for (int k = 0; k < p->n_pins; k++) {
      int axis = dp_mesh_find(&model->mesh, p->pins[k].axis);
      if (axis >= 0 && model->mesh.axes[axis].size > 1) p->placements[axis] = p->pins[k].placement;
    }
    DP_TRY(dp_status_context(dp_placement_check(&p->type.shape, p->placements, &model->mesh), "'%s'", p->name));
  }
  return DP_OK;
}

// ---- values without producer ----------------------------------------------------------------------------------------

static dp_value *device_value(dp_place *place, dp_value *logical, dp_value_kind kind, const char *name) {
  dp_value *value = dp_graph_add_value(place->device, kind, name, logical->type);
  value->logical = logical;
  value->persistent = logical->persistent;
  return value;
}

// Inputs and scalars: on the host, from where each device takes its part.
static void place_host_value(dp_place *place, dp_value *logical) {
  dp_value *host = device_value(place, logical, logical->kind, logical->name);
  host->space = DP_SPACE_HOST_INPUT;
  dp_placement wanted[DP_MAX_MESH];
  wanted_input(place, logical, wanted);
  bool split = false;
  for (int a = 0; a < place->mesh->n_axes; a++) split |= wanted[a].kind == DP_SHARD;
  const char *op = split ? "Scatter" : "Broadcast", *name = dp_printf(place->arena, "%s@device", logical->name);
  dp_node *node = dp_graph_add_node(place->device, dp_op_find("dp", op),
                                    dp_printf(place->arena, "%s/%s", op, logical->name), 1, &host, 1, &name, 0, NULL);
  node->outputs[0]->type = logical->type;
  node->outputs[0]->logical = logical;
  memcpy(node->outputs[0]->placements, wanted, sizeof wanted);
  dp_place_add_version(place, logical, node->outputs[0]);
}

static void place_persistent(dp_place *place, dp_value *logical) {
  dp_value *value = device_value(place, logical, DP_VALUE_PERSISTENT, logical->name);
  value->space = DP_SPACE_PERSISTENT;
  memcpy(value->placements, place->model->persistents[logical->persistent].placements, sizeof value->placements);
  dp_place_add_version(place, logical, value);
}

// Called when a value is first used, so that only what is used is brought to the devices.
static void place_source(dp_place *place, dp_value *logical) {
  if (dp_place_versions(place, logical)->count) return;
  if (logical->kind == DP_VALUE_PERSISTENT)
    place_persistent(place, logical);
  else
    place_host_value(place, logical);
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

static dp_status place_node(dp_place *place, dp_node *logical);

// Replaces a node that would lose its operands' shards by simpler ones, and places those.
static dp_status lower(dp_place *place, const dp_node *node, dp_value *const *in, dp_value **out) {
  int32_t first = place->logical->n_nodes, first_value = place->logical->n_values;
  dp_builder builder = {.graph = place->logical, .prefix = node->name};
  node->op->lower(&builder, node, in, out);
  DP_TRY(dp_status_context(builder.status, "node '%s'", node->name));
  // What the lowering holds as constants is stored like every other constant.
  dp_value **stored = dp_alloc_n(place->arena, (size_t)place->logical->n_values, sizeof *stored);
  for (int32_t i = first_value; i < place->logical->n_values; i++) {
    dp_value *value = place->logical->values[i];
    if (value->kind == DP_VALUE_CONSTANT)
      stored[i] = dp_graph_persistent(place->logical, dp_constants_store(place->model, value->constant));
  }
  for (int32_t i = first; i < place->logical->n_nodes; i++) {
    dp_node *piece = place->logical->nodes[i];
    for (int k = 0; k < piece->n_inputs; k++)
      if (piece->inputs[k] && piece->inputs[k]->kind == DP_VALUE_CONSTANT)
        piece->inputs[k] = stored[piece->inputs[k]->id];
    DP_TRY(place_node(place, piece));
  }
  return DP_OK;
}

static dp_status emit_node(dp_place *place, dp_node *logical, const dp_choice *choice) {
  int n_in = logical->n_inputs, n_out = logical->n_outputs;
  dp_value **inputs = dp_alloc_n(place->arena, (size_t)n_in, sizeof *inputs);
  for (int i = 0; i < n_in; i++) {
    if (!logical->inputs[i]) continue;
    dp_placement wanted[DP_MAX_MESH] = {0};
    for (int a = 0; a < place->mesh->n_axes; a++) wanted[a] = choice->row[a]->in[i];
    DP_TRY(dp_place_get(place, logical->inputs[i], wanted, &inputs[i]));
  }
  const char **names = dp_alloc_n(place->arena, (size_t)n_out, sizeof *names);
  for (int i = 0; i < n_out; i++) names[i] = logical->outputs[i] ? logical->outputs[i]->name : NULL;
  dp_node *node = dp_graph_add_node(place->device, logical->op, logical->name, n_in, inputs, n_out, names,
                                    logical->n_attrs, logical->attrs);
  node->logical = logical;
  node->device = logical->device;
  node->stage = logical->stage;
  for (int i = 0; i < n_out; i++) {
    if (!logical->outputs[i]) continue;
    node->outputs[i]->type = logical->outputs[i]->type;
    node->outputs[i]->logical = logical->outputs[i];
    for (int a = 0; a < place->mesh->n_axes; a++) node->outputs[i]->placements[a] = choice->row[a]->out[i];
    dp_place_add_version(place, logical->outputs[i], node->outputs[i]);
  }
  return DP_OK;
}

static dp_status place_node(dp_place *place, dp_node *logical) {
  for (int i = 0; i < logical->n_inputs; i++)
    if (logical->inputs[i] && !logical->inputs[i]->producer) place_source(place, logical->inputs[i]);
  dp_choice choice = dp_place_choose(place, logical);
  return emit_node(place, logical, &choice);
}

// What stands for a value of the old logical graph. A lowering may have brought in the same persistent value or scalar
// before, and each is there once.
static dp_value *take_value(dp_place *place, dp_value *old, dp_value **map) {
  if (!map[old->id] && old->kind == DP_VALUE_PERSISTENT)
    map[old->id] = dp_graph_persistent(place->logical, old->persistent);
  if (!map[old->id] && old->kind == DP_VALUE_SCALAR) map[old->id] = dp_graph_scalar(place->logical, old->name);
  dp_value *value = dp_graph_copy_value(place->logical, old, map);
  if (!value->producer) place_source(place, value);
  return value;
}

// Decides about a node of the old logical graph: into the new one as it is, or lowered.
static dp_status take_node(dp_place *place, const dp_node *old, dp_value **map) {
  dp_value **in = dp_alloc_n(place->arena, (size_t)old->n_inputs, sizeof *in);
  for (int i = 0; i < old->n_inputs; i++)
    if (old->inputs[i]) in[i] = take_value(place, old->inputs[i], map);
  if (old->op->lower) {
    // The choice needs no more than the operands, which are those of the new graph.
    dp_node probe = *old;
    probe.inputs = in;
    int32_t n_homes = place->n_homes;
    place->n_homes = 0;  // the results are not yet of the new graph
    bool loses_shard = dp_place_choose(place, &probe).loses_shard;
    place->n_homes = n_homes;
    if (loses_shard) {
      dp_value **out = dp_alloc_n(place->arena, (size_t)old->n_outputs, sizeof *out);
      DP_TRY(lower(place, old, in, out));
      for (int i = 0; i < old->n_outputs; i++)
        if (old->outputs[i]) map[old->outputs[i]->id] = out[i];
      return DP_OK;
    }
  }
  dp_node *node = dp_graph_copy_node(place->logical, old, map);
  for (int i = 0; i < node->n_outputs; i++) {
    if (!node->outputs[i]) continue;
    int32_t id = node->outputs[i]->id;
    while (place->n_homes <= id) DP_PUSH(place->arena, place->homes, place->n_homes, -1);
    for (int u = 0; u < old->graph->n_updates; u++)
      if (old->graph->updates[u].value == old->outputs[i]) place->homes[id] = old->graph->updates[u].persistent;
  }
  return place_node(place, node);
}

// ---- results --------------------------------------------------------------------------------------------------------

// A persistent value is written where it lives by one node that may do so in place. What another node gives is moved there.
static void end_updates_in_place(dp_graph *graph) {
  for (int u = 0; u < graph->n_updates; u++) {
    dp_value *value = graph->updates[u].value;
    bool first_value = dp_graph_find_value(graph, graph->model->persistents[graph->updates[u].persistent].name) == NULL;
    bool shared = false;
    for (int k = 0; k < u; k++) shared |= graph->updates[k].value == value;
    if (value->producer && !shared && (first_value || dp_op_is(value->producer->op, DP_OP_UPDATE))) continue;
    dp_builder builder = {
        .graph = graph,
        .prefix = dp_printf(graph->arena, "update/%s", graph->model->persistents[graph->updates[u].persistent].name)};
    graph->updates[u].value = dp_build1(&builder, "Identity", value);
  }
}

static dp_status place_results(dp_place *place, const dp_graph *old, dp_value **map) {
  dp_placement whole[DP_MAX_MESH] = {0};
  for (int u = 0; u < old->n_updates; u++) {
    int32_t p = old->updates[u].persistent;
    dp_value *logical = map[old->updates[u].value->id], *value;
    dp_graph_add_update(place->logical, p, logical);
    DP_TRY(dp_place_get(place, logical, place->model->persistents[p].placements, &value));
    dp_graph_add_update(place->device, p, value);
  }
  for (int o = 0; o < old->n_outputs; o++) {
    dp_value *logical = take_value(place, old->outputs[o].value, map), *value;
    dp_graph_add_output(place->logical, old->outputs[o].name, logical);
    DP_TRY(dp_place_get(place, logical, whole, &value));
    const char *name = dp_printf(place->arena, "%s@host", logical->name);
    dp_node *node =
        dp_graph_add_node(place->device, dp_op_find("dp", "Gather"),
                          dp_printf(place->arena, "Gather/%s", logical->name), 1, &value, 1, &name, 0, NULL);
    node->outputs[0]->type = logical->type;
    node->outputs[0]->logical = logical;
    node->outputs[0]->space = DP_SPACE_HOST_OUTPUT;
    dp_graph_add_output(place->device, old->outputs[o].name, node->outputs[0]);
  }
  return DP_OK;
}

static dp_status place_graph(dp_model *model, dp_graph *old) {
  end_updates_in_place(old);
  dp_place place = {.arena = model->arena, .model = model, .mesh = &model->mesh};
  place.logical = dp_graph_create(model, old->name);
  place.device = dp_graph_create(model, old->name);
  place.device->logical = place.logical;
  dp_value **map = dp_alloc_n(model->arena, (size_t)old->n_values, sizeof *map);
  for (int32_t i = 0; i < old->n_nodes; i++) DP_TRY(take_node(&place, old->nodes[i], map));
  DP_TRY(place_results(&place, old, map));
  DP_TRY(dp_graph_verify(place.logical));
  dp_model_add_graph(model, place.device);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  dp_model *model = compile->model;
  DP_TRY(place_homes(model));
  for (int i = 0; i < model->n_graphs; i++)
    DP_TRY(dp_status_context(place_graph(model, model->graphs[i]), "program %s", model->graphs[i]->name));
  return DP_OK;
}

const dp_pass dp_pass_place = {
    .name = "place",
    .what = "every value gets its place on the mesh; communication is inserted",
    .needs = DP_HAS_MESH | DP_HAS_BATCH | DP_HAS_PROGRAMS | DP_HAS_NO_CONSTANTS | DP_HAS_INIT,
    .gives = DP_HAS_PLACEMENTS,
    .run = run,
};
