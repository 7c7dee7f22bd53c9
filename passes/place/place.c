// place: makes the device form. Decides where on the mesh every value is, and inserts communication where producer and
// consumer differ. One mechanism places the whole training graph; a strategy only contributes annotations:
//
//   data: inputs are split on mesh axis `data`, along their samples or as --split says; those without samples are
//         replicated. So are variables, except for the user's `shard` annotations, which apply on any axis.
//         Optimizer state follows its parameter.
//   single: the same on one device, where there is nothing to split.
//   manual: inputs are split as --split says and no other way.
// Whatever else strategies ask for is an annotation too (passes/strategy/strategy.c).
//
// Micro-batches are another mesh axis, `micro`, on which inputs are split along their samples. So each activation
// belongs to one micro-batch, and sums over them, gradients above all, are completed before they are used. Conversions
// on that axis appear here as the communication that they would be between devices; the pass `unroll` replaces them.
// Where training needs the whole batch at once there is one micro-batch, and the user is told (whole.c).
//
// Nodes are visited in order. Each takes the cheapest of its operator's rows (node.c), operands are converted when
// needed, and sums stay partial as long as rows allow. A node that would lose a split which its decomposition could
// keep is decomposed. Afterwards every graph is in device form, with its logical graph, including the decomposed nodes,
// beside it. A variable's new value is in its storage, and on its stage.
#include <string.h>

#include "passes/base/pass.h"
#include "passes/place/place.h"

// ---- storage --------------------------------------------------------------------------------------------------------

static dp_status place_variable(dp_model *model, dp_variable *p) {
  dp_placement placements[DP_MAX_MESH] = {0};
  for (int i = 0; i < p->n_constraints; i++) {
    // An axis that this mesh lacks, or that has one device, splits nothing.
    int axis = dp_mesh_find(&model->mesh, p->constraints[i].axis);
    if (axis < 0 || model->mesh.axes[axis].size == 1) continue;
    if (dp_mesh_is_staged(&model->mesh.axes[axis]) || dp_mesh_is_sequential(&model->mesh.axes[axis]))
      return dp_fail(EX_CONFIG, "'%s' is annotated for mesh axis '%s', over which no tensor is split", p->name,
                     p->constraints[i].axis);
    if (p->constraints[i].placement.kind == DP_PARTIAL)
      return dp_fail(EX_DATAERR, "'%s': the annotation on axis '%s' is Partial; it must be Replicate or Shard", p->name,
                     p->constraints[i].axis);
    placements[axis] = p->constraints[i].placement;
  }
  p->placements = dp_model_placements(model, placements);
  return dp_status_context(dp_placement_check(&p->type->shape, placements, &model->mesh), "'%s', its annotations",
                           p->name);
}

// The stage of a variable, the first if there are several; -1: there are no stages.
static int storage_stage(const dp_variable *p) { return p->n_stages ? p->stages[0] : -1; }

// The stage of a value's producer. A value available on every stage is taken from the first that has it.
static int stage_of(const dp_place *place, const dp_value *device) {
  if (device->producer && device->producer->stage >= 0) return device->producer->stage;
  const dp_value *logical = device->logical;
  if (logical->kind == DP_VALUE_VARIABLE) return storage_stage(&place->model->variables[logical->variable]);
  return dp_mesh_stages(&place->model->mesh) > 1 ? 0 : -1;
}

// ---- ends of a program ----------------------------------------------------------------------------------------------

// The placement in which the host takes a value. It assembles parts, but only those of one batch, and needs complete
// sums.
static void place_output(const dp_place *place, dp_placement *to) {
  const dp_placement micro = place->micro_axis < 0 ? dp_replicate() : to[place->micro_axis];
  for (int a = 0; a < place->model->mesh.n_axes; a++)
    if (to[a].kind == DP_PARTIAL || (micro.kind == DP_SHARD && to[a].kind == DP_SHARD && to[a].dim == micro.dim))
      to[a] = dp_replicate();
}

static void output(dp_place *place, const char *name, dp_value *logical) {
  dp_placement to[DP_MAX_MESH];
  memcpy(to, dp_place_copy_of(place, logical)->copies->value->placements, sizeof to);
  place_output(place, to);
  dp_value *device = dp_place_copy_convert(place, logical, to);
  dp_node *node = dp_graph_add_node(place->device, dp_op_find("dp", "Gather"),
                                    dp_printf(place->tables, "%s/Gather", name), 1, &device, 1, NULL, 0, NULL);
  node->stage = stage_of(place, device);
  dp_value *host = node->outputs[0];
  host->type = logical->type;
  host->space = DP_SPACE_HOST_OUTPUT;
  host->logical = logical;
  dp_graph_add_output(place->logical, name, logical);
  dp_graph_add_output(place->device, name, host);
}

// The last node that reads the variable's old value; -1: none does.
static void mark_readers(const dp_graph *device, int32_t *last) {
  for (int32_t i = 0; i < device->n_nodes; i++)
    for (int k = 0; k < device->nodes[i]->n_inputs; k++) {
      const dp_value *x = device->nodes[i]->inputs[k];
      if (x && x->kind == DP_VALUE_VARIABLE) last[x->variable] = i;
    }
}

// Stores the variable's new value: directly where nothing reads the old value any more, or by a copy at the end of the
// program.
static dp_status store_update(dp_place *place, int32_t variable, dp_value *logical, int32_t last_reader) {
  const dp_variable *p = &place->model->variables[variable];
  dp_value *device = dp_place_copy_convert(place, logical, p->placements);
  const dp_node *producer = device->producer;
  bool in_place = dp_op_is(producer->op, DP_OP_UPDATE), free = last_reader < producer->id;
  if (in_place && last_reader > producer->id)
    return dp_fail(EX_UNAVAILABLE, "'%s' is used by '%s' after node '%s' has updated it in place", p->name,
                   place->device->nodes[last_reader]->name, producer->name);
  bool elsewhere = storage_stage(p) >= 0 && producer->stage != storage_stage(p);
  if (device->space == DP_SPACE_PERSISTENT || elsewhere || (!free && !in_place)) {
    device = dp_place_node_identity(place, device, storage_stage(p));
    logical = device->logical;
  }
  device->space = DP_SPACE_PERSISTENT;
  dp_graph_append_update(place->logical, variable, logical);
  dp_graph_append_update(place->device, variable, device);
  return DP_OK;
}

static dp_status update_all(dp_place *place, dp_place_source *source) {
  const dp_graph *program = source->graph;
  dp_value **ends = dp_alloc_n(place->tables, (size_t)program->n_updates, sizeof(dp_value *));
  for (int i = 0; i < program->n_updates; i++) {
    const dp_update *u = &program->updates[i];
    dp_value *logical = dp_place_node_operand(place, source, u->value);
    // A variable whose final value is its old one is not updated.
    if (logical->kind == DP_VALUE_VARIABLE && logical->variable == u->variable) continue;
    dp_value *device = dp_place_copy_convert(place, logical, place->model->variables[u->variable].placements);
    const int stage = storage_stage(&place->model->variables[u->variable]);
    ends[i] = logical->kind == DP_VALUE_RESULT ? logical : dp_place_node_identity(place, device, stage)->logical;
  }
  int32_t *last = dp_alloc_n(place->tables, (size_t)place->model->n_variables, sizeof *last);
  memset(last, 0xff, (size_t)place->model->n_variables * sizeof *last);
  mark_readers(place->device, last);
  for (int i = 0; i < program->n_updates; i++)
    if (ends[i]) DP_TRY(store_update(place, program->updates[i].variable, ends[i], last[program->updates[i].variable]));
  return DP_OK;
}

// ---- programs -------------------------------------------------------------------------------------------------------

// The state, which a strategy may split without the parameter; if there is none, the parameter.
static int32_t last_updated(const dp_node *node) {
  int32_t last = -1;
  for (int k = 0; k < node->n_outputs && k < node->n_inputs; k++)
    if (node->inputs[k] && node->inputs[k]->variable >= 0) last = node->inputs[k]->variable;
  return last;
}

// A value that an operator takes to update a variable serves the variable, and so do values that it is computed from
// elementwise. What is used for several serves a state among them: a strategy may split that without the parameter.
int32_t *dp_place_serving(dp_arena *arena, const dp_graph *program) {
  int32_t *serves = dp_alloc_n(arena, (size_t)program->n_values, sizeof *serves);
  const dp_variable *variables = program->model->variables;
  memset(serves, 0xff, (size_t)program->n_values * sizeof *serves);
  for (int32_t i = program->n_nodes; i-- > 0;) {
    const dp_node *node = program->nodes[i];
    int32_t p = -1;
    if (dp_op_is(node->op, DP_OP_UPDATE))
      p = last_updated(node);
    else if (dp_op_is(node->op, DP_OP_ELEMENTWISE))
      p = serves[node->outputs[0]->id];
    for (int k = 0; k < node->n_inputs && p >= 0; k++) {
      const dp_value *x = node->inputs[k];
      if (!x || !x->producer || !dp_shape_equal(&x->type->shape, &variables[p].type->shape)) continue;
      if (serves[x->id] < 0 || variables[serves[x->id]].kind != DP_STATE || variables[p].kind == DP_STATE)
        serves[x->id] = p;
    }
  }
  return serves;
}

static dp_place_source source_of(dp_arena *arena, const dp_graph *program) {
  size_t n = (size_t)program->n_values;
  dp_place_source s = {.graph = program, .map = dp_alloc_n(arena, n, sizeof *s.map)};
  s.uses = dp_alloc_n(arena, n, sizeof *s.uses);
  s.update = dp_alloc_n(arena, n, sizeof *s.update);
  memset(s.update, 0xff, n * sizeof *s.update);
  s.serves = dp_place_serving(arena, program);
  for (int32_t i = 0; i < program->n_nodes; i++)
    for (int k = 0; k < program->nodes[i]->n_inputs; k++)
      if (program->nodes[i]->inputs[k]) s.uses[program->nodes[i]->inputs[k]->id]++;
  for (int i = 0; i < program->n_outputs; i++) s.uses[program->outputs[i].value->id]++;
  for (int i = program->n_updates; i-- > 0;) {
    s.uses[program->updates[i].value->id]++;
    s.update[program->updates[i].value->id] = program->updates[i].variable;
  }
  return s;
}

static void enter_source(dp_place *place, dp_place_source *source, const dp_value *value) {
  if (value && value->kind != DP_VALUE_RESULT) dp_place_node_operand(place, source, value);
}

// The mesh axis on which samples are split; -1: none.
static int data_axis_of(const dp_compile *compile) {
  const dp_mesh *mesh = &compile->model->mesh;
  int axis = dp_mesh_find(mesh, "data");
  if (!compile->strategy->splits_samples && !compile->options->n_splits) return -1;
  return axis >= 0 && mesh->axes[axis].size > 1 ? axis : -1;
}

static dp_status place_program(dp_place *place, const dp_graph *program) {
  dp_place_source source = source_of(place->tables, program);
  // In the order of first use, which survives printing and reading back.
  for (int32_t i = 0; i < program->n_nodes; i++)
    for (int k = 0; k < program->nodes[i]->n_inputs; k++) enter_source(place, &source, program->nodes[i]->inputs[k]);
  for (int i = 0; i < program->n_outputs; i++) enter_source(place, &source, program->outputs[i].value);
  for (int i = 0; i < program->n_updates; i++) enter_source(place, &source, program->updates[i].value);
  // Outputs that are not computed come first, before an update overwrites them.
  for (int i = 0; i < program->n_outputs; i++)
    if (program->outputs[i].value->kind != DP_VALUE_RESULT)
      output(place, program->outputs[i].name, source.map[program->outputs[i].value->id]);
  DP_TRY(dp_place_node_walk(place, &source));
  for (int i = 0; i < program->n_outputs; i++)
    if (program->outputs[i].value->kind == DP_VALUE_RESULT)
      output(place, program->outputs[i].name, source.map[program->outputs[i].value->id]);
  return update_all(place, &source);
}

dp_status dp_place_program(const dp_compile *compile, const dp_graph *program, int32_t *starts, dp_graph **placed) {
  dp_model *model = compile->model;
  dp_place place = {.model = model,
                    .options = compile->options,
                    .splits_samples = compile->strategy->splits_samples,
                    .shares = dp_strategy_shares(compile->strategy, compile->options),
                    .data_axis = data_axis_of(compile),
                    .tables = dp_arena_create_within(model->arena),
                    .starts = starts};
  place.micro_axis = dp_mesh_microbatches(&model->mesh) > 1 ? dp_mesh_find(&model->mesh, DP_MESH_MICRO) : -1;
  place.logical = dp_graph_create(model, program->name);
  place.device = *placed = dp_graph_create(model, program->name);
  place.device->logical = place.logical;
  const dp_status status = place_program(&place, program);
  dp_arena_destroy(place.tables);
  return status;
}

dp_status dp_place_storages(dp_model *model) {
  for (int32_t i = 0; i < model->n_variables; i++) DP_TRY(place_variable(model, &model->variables[i]));
  return DP_OK;
}

// Places all programs; placed[] has their device forms. They stay as before where another attempt may follow, as
// micro-batches may turn out to be too many. Else each gives back its memory before the next one is placed.
static dp_status place_all(dp_compile *compile, int32_t **starts, dp_graph **placed) {
  dp_model *model = compile->model;
  DP_TRY(dp_place_storages(model));
  for (int i = 0; i < model->n_graphs; i++) {
    dp_graph *program = model->graphs[i];
    starts[i] = dp_alloc_n(model->arena, (size_t)program->n_nodes, sizeof *starts[i]);
    DP_TRY(dp_status_context(dp_place_program(compile, program, starts[i], &placed[i]), "program %s", program->name));
    DP_TRY(dp_status_context(dp_graph_verify(placed[i]->logical), "program %s", program->name));
    dp_graph_finish(placed[i]->logical);
    if (dp_mesh_microbatches(&model->mesh) == 1) dp_graph_free(program);
  }
  return DP_OK;
}

// Only where the user requested no count of micro-batches.
static void note_micro(const dp_compile *compile) {
  const dp_mesh *mesh = &compile->model->mesh;
  if (!compile->options->microbatches && dp_mesh_microbatches(mesh) > 1 && dp_mesh_stages(mesh) > 1)
    dp_pass_note(compile, "%lld micro-batches for %lld stages; --microbatches=M says otherwise",
                 (long long)dp_mesh_microbatches(mesh), (long long)dp_mesh_stages(mesh));
}

static dp_status run(dp_compile *compile) {
  dp_model *model = compile->model;
  int32_t **starts = dp_alloc_n(model->arena, (size_t)model->n_graphs, sizeof *starts);
  dp_graph **placed = dp_alloc_n(model->arena, (size_t)model->n_graphs, sizeof *placed);
  const int32_t n_variables = model->n_variables;
  DP_TRY(place_all(compile, starts, placed));
  for (int i = 0; i < model->n_graphs; i++) {
    const dp_node *node = dp_place_whole_find(model->graphs[i], starts[i], placed[i]);
    if (!node) continue;
    dp_pass_note(compile, "node '%s' (%s) needs the whole batch at once: a step is one micro-batch", node->name,
                 node->op->name);
    dp_mesh_drop(&model->mesh, DP_MESH_MICRO);
    dp_model_keep_variables(model, n_variables);  // constants stored by a failed attempt are stored again
    DP_TRY(place_all(compile, starts, placed));
    break;
  }
  for (int i = 0; i < model->n_graphs; i++) {
    dp_place_counts_first(placed[i]);
    dp_graph *program = model->graphs[i];
    dp_model_add_graph(model, placed[i]);
    dp_graph_free(program);
  }
  note_micro(compile);
  return DP_OK;
}

const dp_pass dp_pass_place = {
    .name = "place",
    .what = "decides where every value is; inserts communication",
    .needs = DP_HAS_MESH | DP_HAS_BATCH | DP_HAS_UPDATES | DP_HAS_NO_CONSTANTS | DP_HAS_STAGES | DP_HAS_STRATEGY,
    .gives = DP_HAS_PLACEMENTS,
    .run = run,
};
