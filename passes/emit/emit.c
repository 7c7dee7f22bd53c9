// emit: writes the plan: the model's programs in device form as messages of ir/plan/plan.proto. It decides nothing.
//
// A plan has one role for all devices or, for a pipeline, one role per stage. Each has the same programs in the same
// order; a stage's graph may be empty. Values without a space stand for data in transit between stages and are left
// out. With dp_options.frees_graphs a graph gives back its memory as soon as the plan has it.
#include <string.h>

#include "ir/file/proto.h"
#include "ir/plan/layout.h"
#include "passes/base/strategy.h"
#include "passes/emit/calibration.h"
#include "passes/emit/learning_rate.h"
#include "passes/memory/storage.h"

enum { PLACED = 64 };

typedef struct {
  dp_compile *compile;
  dp_model *model;
  dp_arena *arena;
  const dp_graph *graph;  // the current graph
  uint32_t *tensor_of;    // (its values) index plus 1; 0: left out
  Dp__Program *program;
  dp_proto_shared *shared;
  struct {
    const dp_placement *of;
    Dp__Placement **messages;
  } placed[PLACED];  // the last for each hash of an array that values share
} emitting;

// A message, initialised.
#define NEW(arena, variable, TYPE, INIT)                \
  TYPE *variable = dp_alloc((arena), sizeof *variable); \
  *variable = (TYPE)INIT

static Dp__Space space_of(dp_space space) {
  return space == DP_SPACE_DEVICE_INPUT ? DP__SPACE__DEVICE_INPUT : (Dp__Space)space;
}

// ---- tensors and instructions ---------------------------------------------------------------------------------------

static Dp__Placement **emit_placements(emitting *e, const dp_placement *placements) {
  const size_t i = dp_hash64(&placements, sizeof placements) % PLACED;
  if (e->placed[i].of == placements) return e->placed[i].messages;
  e->placed[i].of = placements;
  return e->placed[i].messages = dp_proto_from_placements(e->arena, placements, e->model->mesh.n_axes);
}

static Dp__DeviceTensor *emit_tensor(emitting *e, const dp_value *value) {
  NEW(e->arena, t, Dp__DeviceTensor, DP__DEVICE_TENSOR__INIT);
  t->value = (uint32_t)value->logical->id;
  t->n_placements = (size_t)e->model->mesh.n_axes;
  t->placements = emit_placements(e, value->placements);
  t->stage = (uint32_t)dp_max_i64(0, e->graph->stage);
  if (value->micro_count) {
    NEW(e->arena, set, Dp__MicroSet, DP__MICRO_SET__INIT);
    set->first = (uint32_t)value->micro_first;
    set->count = (uint32_t)value->micro_count;
    set->of = (uint32_t)dp_mesh_microbatches(&e->model->mesh);
    t->micro = set;
  }
  t->layout = dp_plan_layout_of(value->layout);
  t->dtype = (int32_t)value->type->dtype;
  t->space = space_of(value->space);
  t->offset = value->offset;
  t->bytes = value->bytes;
  return t;
}

static uint32_t *emit_operands(const emitting *e, int count, dp_value *const *values) {
  uint32_t *indices = dp_alloc_n(e->arena, (size_t)count, sizeof *indices);
  for (int i = 0; i < count; i++) indices[i] = values[i] ? e->tensor_of[values[i]->id] : 0;
  return indices;
}

static void emit_value(emitting *e, const dp_value *value) {
  if (!value || !value->space) return;
  Dp__DeviceTensor *t = emit_tensor(e, value);
  DP_PUSH(e->arena, e->program->tensors, e->program->n_tensors, t);
  e->tensor_of[value->id] = (uint32_t)e->program->n_tensors;
}

// The axis of a communication (none between host and devices), and the other side of a transfer between stages.
static void emit_communication(const emitting *e, const dp_node *node, Dp__Instruction *instruction) {
  NEW(e->arena, c, Dp__Communication, DP__COMMUNICATION__INIT);
  const char *name = dp_node_string(node, "axis", NULL);
  const int axis = name ? dp_mesh_find(&e->model->mesh, name) : -1;
  const dp_attr *peer = dp_node_attr(node, "peer");
  instruction->communication = c;
  if (axis < 0) return;
  c->axes = dp_alloc(e->arena, sizeof *c->axes);
  c->axes[c->n_axes++] = (uint32_t)axis;
  const dp_placement from = node->inputs[0]->placements[axis];
  if (from.kind == DP_PARTIAL) c->reduction = (int32_t)from.reduction;
  if (!peer) return;
  int64_t size = e->model->mesh.axes[axis].size;
  NEW(e->arena, other, Dp__PeerExpression, DP__PEER_EXPRESSION__INIT);
  other->axis = (uint32_t)axis;
  other->scale = 1;
  other->offset = (peer->i - e->graph->stage + size) % size;
  c->channel = (uint32_t)dp_node_int(node, "channel", 0);
  DP_PUSH(e->arena, c->peer, c->n_peer, other);
}

static void emit_node(const emitting *e, const dp_node *node, Dp__Instruction *in) {
  in->op = dp_proto_string(node->op->name);
  in->domain = dp_proto_string(node->op->domain);
  dp_proto_shared_attrs(e->shared, node->n_attrs, node->attrs, &in->n_attributes, &in->attributes);
  if (!node->logical) return;
  in->n_nodes = 1;
  in->nodes = dp_alloc(e->arena, sizeof *in->nodes);
  in->nodes[0] = (uint32_t)node->logical->id;
}

// tensor_of: of the body's values, an index plus 1.
static uint32_t *emit_inside(const emitting *e, const uint32_t *tensor_of, int count, dp_value *const *values) {
  uint32_t *indices = dp_alloc_n(e->arena, (size_t)count, sizeof *indices);
  for (int i = 0; i < count; i++) indices[i] = values[i] ? tensor_of[values[i]->id] : 0;
  return indices;
}

static void emit_members(emitting *e, const dp_node *node, Dp__Instruction *in) {
  const dp_graph *body = node->body;
  uint32_t *tensor_of = dp_alloc_n(e->arena, (size_t)body->n_values, sizeof *tensor_of);
  for (int32_t v = 0, k = 0; v < body->n_values; v++)
    if (body->values[v]->kind != DP_VALUE_RESULT) tensor_of[v] = in->inputs[k++];
  for (int i = 0; i < body->n_outputs; i++) tensor_of[body->outputs[i].value->id] = in->outputs[i];
  for (int32_t v = 0; v < body->n_values; v++) {
    if (tensor_of[v]) continue;
    Dp__DeviceTensor *t = emit_tensor(e, body->values[v]);
    t->space = DP__SPACE__INSIDE;
    t->offset = t->bytes = 0;
    DP_PUSH(e->arena, e->program->tensors, e->program->n_tensors, t);
    tensor_of[v] = (uint32_t)e->program->n_tensors;
  }
  in->nodes = dp_alloc_n(e->arena, (size_t)body->n_nodes, sizeof *in->nodes);
  for (int32_t m = 0; m < body->n_nodes; m++) {
    NEW(e->arena, member, Dp__Instruction, DP__INSTRUCTION__INIT);
    emit_node(e, body->nodes[m], member);
    member->n_inputs = (size_t)body->nodes[m]->n_inputs;
    member->inputs = emit_inside(e, tensor_of, body->nodes[m]->n_inputs, body->nodes[m]->inputs);
    member->n_outputs = (size_t)body->nodes[m]->n_outputs;
    member->outputs = emit_inside(e, tensor_of, body->nodes[m]->n_outputs, body->nodes[m]->outputs);
    in->nodes[in->n_nodes++] = member->nodes[0];
    DP_PUSH(e->arena, in->members, in->n_members, member);
  }
}

static Dp__Instruction *emit_instruction(emitting *e, const dp_node *node) {
  NEW(e->arena, in, Dp__Instruction, DP__INSTRUCTION__INIT);
  in->kernel = dp_proto_string(node->kernel);
  emit_node(e, node, in);
  if (dp_op_is(node->op, DP_OP_COMMUNICATION)) emit_communication(e, node, in);
  in->n_inputs = (size_t)node->n_inputs;
  in->inputs = emit_operands(e, node->n_inputs, node->inputs);
  in->n_outputs = (size_t)node->n_outputs;
  in->outputs = emit_operands(e, node->n_outputs, node->outputs);
  if (node->body) emit_members(e, node, in);
  in->n_waits = (size_t)node->n_waits;
  in->waits = dp_alloc_n(e->arena, in->n_waits, sizeof *in->waits);
  for (int i = 0; i < node->n_waits; i++) in->waits[i] = (uint32_t)node->waits[i];
  in->signal = (uint32_t)(node->signal + 1);
  in->threads = (uint32_t)node->threads;
  if (node->scratch_bytes) {
    NEW(e->arena, scratch, Dp__Scratch, DP__SCRATCH__INIT);
    scratch->offset = node->scratch_offset;
    scratch->bytes = node->scratch_bytes;
    in->scratch = scratch;
  }
  if (node->packed_bytes) {
    NEW(e->arena, packed, Dp__Packed, DP__PACKED__INIT);
    packed->operand = (uint32_t)dp_kernel_find(e->compile->options->target, node->kernel)->packs;
    packed->offset = node->packed_offset;
    packed->bytes = node->packed_bytes;
    in->packed = packed;
  }
  return in;
}

// ---- programs -------------------------------------------------------------------------------------------------------

// Stream by stream, in the order of their instructions: what repeats there repeats among the tensors too.
static void emit_results(emitting *e) {
  const dp_graph *graph = e->graph;
  for (int s = 0; s < graph->n_streams; s++)
    for (int32_t i = 0; i < graph->n_nodes; i++)
      for (int k = 0; graph->nodes[i]->stream == s && k < graph->nodes[i]->n_outputs; k++)
        emit_value(e, graph->nodes[i]->outputs[k]);
}

static void emit_streams(emitting *e, Dp__Program *program) {
  const dp_graph *graph = e->graph;
  program->n_streams = (size_t)graph->n_streams;
  program->streams = dp_alloc_n(e->arena, program->n_streams, sizeof *program->streams);
  for (int s = 0; s < graph->n_streams; s++) {
    NEW(e->arena, stream, Dp__Stream, DP__STREAM__INIT);
    stream->name = dp_proto_string(graph->streams[s]);
    program->streams[s] = stream;
  }
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    Dp__Stream *stream = program->streams[node->stream];
    stream->ahead |= node->n_outputs && node->outputs[0] && node->outputs[0]->space == DP_SPACE_DEVICE_INPUT;
    DP_PUSH(e->arena, stream->instructions, stream->n_instructions, emit_instruction(e, node));
  }
}

static void emit_binding(const emitting *e, const char *name, const dp_value *value, size_t *count,
                         Dp__Binding ***bindings) {
  NEW(e->arena, b, Dp__Binding, DP__BINDING__INIT);
  b->name = dp_proto_string(name);
  b->tensor = e->tensor_of[value->id] - 1;
  DP_PUSH(e->arena, *bindings, *count, b);
}

static void emit_update(const emitting *e, int32_t variable, const dp_value *value, size_t *count,
                        Dp__Update ***updates) {
  NEW(e->arena, u, Dp__Update, DP__UPDATE__INIT);
  u->variable = (uint32_t)variable;
  u->value = e->tensor_of[value->id] - 1;
  DP_PUSH(e->arena, *updates, *count, u);
}

static Dp__Program *emit_program(emitting *e, const dp_graph *graph, uint32_t index) {
  NEW(e->arena, p, Dp__Program, DP__PROGRAM__INIT);
  p->name = dp_proto_string(graph->logical->name);
  p->graph = index;
  e->graph = graph;
  e->program = p;
  e->tensor_of = dp_alloc_n(e->arena, (size_t)graph->n_values, sizeof *e->tensor_of);
  for (int32_t i = 0; i < graph->n_values; i++) {
    const dp_value *v = graph->values[i];
    if (!v->space || v->kind == DP_VALUE_RESULT) continue;
    emit_value(e, v);
    if (v->space == DP_SPACE_HOST_INPUT) emit_binding(e, v->name, v, &p->n_inputs, &p->inputs);
    if (v->kind == DP_VALUE_VARIABLE) emit_update(e, v->variable, v, &p->n_entry, &p->entry);
  }
  emit_results(e);
  emit_streams(e, p);
  p->events = (uint32_t)graph->n_events;
  for (int i = 0; i < graph->n_outputs; i++)
    emit_binding(e, graph->outputs[i].name, graph->outputs[i].value, &p->n_outputs, &p->outputs);
  for (int i = 0; i < graph->n_updates; i++) {
    emit_update(e, graph->updates[i].variable, graph->updates[i].value, &p->n_exit, &p->exit);
    p->tensors[e->tensor_of[graph->updates[i].value->id] - 1]->version = 1;
  }
  return p;
}

// ---- role -----------------------------------------------------------------------------------------------------------

static void raise(uint64_t tops[DP_SPACE_OFFLOAD + 1], dp_space space, uint64_t offset, uint64_t bytes) {
  if (tops[space] < offset + bytes) tops[space] = offset + bytes;
}

static bool is_of(const dp_graph *graph, int stage) { return graph->stage < 0 || graph->stage == stage; }

static bool has_storage(const dp_variable *p, int stage) {
  bool has = !p->n_stages;
  for (int i = 0; i < p->n_stages; i++) has |= p->stages[i] == stage;
  return has;
}

// All roles share host memory.
static void emit_arenas(const emitting *e, int stage, Dp__Role *role) {
  uint64_t tops[DP_SPACE_OFFLOAD + 1] = {0};
  const dp_model *model = e->model;
  for (int32_t i = 0; i < model->n_variables; i++)
    if (has_storage(&model->variables[i], stage))
      raise(tops, model->variables[i].offloaded ? DP_SPACE_OFFLOAD : DP_SPACE_PERSISTENT, model->variables[i].offset,
            model->variables[i].bytes);
  for (int g = 0; g < model->n_graphs; g++) {
    const dp_graph *graph = model->graphs[g];
    const bool own = is_of(graph, stage);
    for (int32_t i = 0; i < graph->n_values; i++)
      if (own || graph->values[i]->space == DP_SPACE_HOST_INPUT || graph->values[i]->space == DP_SPACE_HOST_OUTPUT)
        raise(tops, graph->values[i]->space, graph->values[i]->offset, graph->values[i]->bytes);
    for (int32_t i = 0; i < graph->n_nodes && own; i++) {
      const dp_node *node = graph->nodes[i];
      if (node->scratch_bytes) raise(tops, DP_SPACE_TRANSIENT, node->scratch_offset, node->scratch_bytes);
      if (node->packed_bytes) raise(tops, DP_SPACE_PERSISTENT, node->packed_offset, node->packed_bytes);
    }
  }
  const bool uploads = e->compile->options->uploads || e->compile->options->target->uploads;
  for (int s = DP_SPACE_PERSISTENT; s <= DP_SPACE_OFFLOAD; s++) {
    if ((s == DP_SPACE_DEVICE_INPUT && !uploads) || (s == DP_SPACE_OFFLOAD && !tops[s])) continue;
    NEW(e->arena, arena, Dp__Arena, DP__ARENA__INIT);
    arena->space = space_of((dp_space)s);
    arena->alignment = e->compile->options->target->alignment;
    arena->bytes = dp_align_up(tops[s], arena->alignment);
    const bool of_run = s == DP_SPACE_HOST_OUTPUT || s == DP_SPACE_DEVICE_INPUT;
    arena->copies = s == DP_SPACE_HOST_INPUT || (uploads && of_run) ? 2 : 1;
    DP_PUSH(e->arena, role->arenas, role->n_arenas, arena);
  }
}

// Whether the model's graph g is the first of its program: the graphs of all stages for one program are adjacent.
static bool begins_program(const dp_model *model, int g) {
  return !g || !dp_memory_same_program(model->graphs[g], model->graphs[g - 1]);
}

static Dp__Role *emit_role(emitting *e, int stage, bool staged) {
  NEW(e->arena, role, Dp__Role, DP__ROLE__INIT);
  role->name = staged ? dp_printf(e->arena, "stage%d", stage) : dp_proto_string("all");
  for (int a = 0; a < e->model->mesh.n_axes; a++) {
    bool pipe = staged && dp_mesh_is_staged(&e->model->mesh.axes[a]);
    NEW(e->arena, range, Dp__AxisRange, DP__AXIS_RANGE__INIT);
    range->first = pipe ? stage : 0;
    range->count = pipe ? 1 : e->model->mesh.axes[a].size;
    DP_PUSH(e->arena, role->devices, role->n_devices, range);
  }
  emit_arenas(e, stage, role);
  for (int g = 0; g < e->model->n_graphs; g++) role->n_programs += begins_program(e->model, g);
  role->programs = dp_alloc_n(e->arena, role->n_programs, sizeof(Dp__Program *));
  return role;
}

// A logical graph without the user's annotations: the plan itself says where values are.
static Dp__Graph *emit_graph(const emitting *e, const dp_graph *graph) {
  Dp__Graph *message = dp_proto_shared_graph(e->shared, graph);
  for (size_t i = 0; i < message->n_nodes; i++) {
    message->nodes[i]->device = message->nodes[i]->stage = 0;
    message->nodes[i]->n_constraints = 0;
  }
  return message;
}

// The model's graph g, which is of program number `program`, in the roles of its stage.
static void emit_graph_of_roles(emitting *e, Dp__Plan *plan, int g, uint32_t program) {
  const dp_graph *graph = e->model->graphs[g];
  for (size_t r = 0; r < plan->n_roles; r++)
    if (is_of(graph, (int)r)) plan->roles[r]->programs[program] = emit_program(e, graph, program);
  // A model may have an output of that name itself, which infer gives.
  for (int o = 0; o < graph->n_outputs && !strcmp(graph->logical->name, "eval"); o++)
    plan->classes |= !strcmp(graph->outputs[o].name, DP_CORRECT_OUTPUT);
}

// The last program first: "train", which is the largest and the first, has the memory of the others then.
static void emit_graphs(emitting *e, Dp__Plan *plan) {
  dp_model *model = e->model;
  const bool frees = e->compile->options->frees_graphs;
  for (int g = 0; g < model->n_graphs; g++) plan->n_graphs += begins_program(model, g);
  plan->graphs = dp_alloc_n(e->arena, plan->n_graphs, sizeof(Dp__Graph *));
  uint32_t program = (uint32_t)plan->n_graphs;
  for (int g = model->n_graphs, first; g > 0; g = first) {
    for (first = g - 1; !begins_program(model, first);) first--;
    program--;
    dp_graph *logical = model->graphs[first]->logical;
    plan->graphs[program] = emit_graph(e, logical);
    for (int i = first; i < g; i++) {
      emit_graph_of_roles(e, plan, i, program);
      if (frees) dp_graph_free(model->graphs[i]);
    }
    if (frees) dp_graph_free(logical);
  }
  if (frees) dp_model_free_graphs(model);
}

// Each stage needs a graph of each program, if only an empty one.
static dp_status check_stages(const Dp__Plan *plan) {
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t p = 0; p < plan->n_graphs; p++)
      if (!plan->roles[r]->programs[p])
        return dp_fail(EX_SOFTWARE, "program '%s' has no graph for stage %zu", plan->graphs[p]->name, r);
  return DP_OK;
}

// ---- plan -----------------------------------------------------------------------------------------------------------

static Dp__Target *emit_target(const emitting *e) {
  NEW(e->arena, target, Dp__Target, DP__TARGET__INIT);
  const dp_target *t = e->compile->options->target;
  target->backend = dp_proto_string(t->name);
  bool isa = false;          // some kernel depends on the ISA
  const char *least = NULL;  // and cannot do without this one
  uint32_t threads = 1;
  for (int g = 0; g < e->model->n_graphs; g++)
    for (int32_t i = 0; i < e->model->graphs[g]->n_nodes; i++) {
      const dp_node *node = e->model->graphs[g]->nodes[i];
      if (!node->kernel) continue;
      const dp_kernel *kernel = dp_kernel_find(t, node->kernel);
      isa |= kernel->isa;
      if (kernel->least_isa) least = kernel->least_isa;
      if ((uint32_t)node->threads > threads) threads = (uint32_t)node->threads;
    }
  const char *held = e->compile->options->isa ? e->compile->options->isa : t->isa ? t->isa() : NULL;
  target->isa = dp_proto_string(isa ? least ? least : held : NULL);
  target->threads = threads;
  return target;
}

static dp_status run(dp_compile *compile) {
  dp_model *model = compile->model;
  compile->unchanged = true;
  emitting e = {.compile = compile, .model = model, .arena = model->arena};
  if (compile->options->frees_graphs) dp_model_finish(model);
  e.shared = dp_proto_shared_create(e.arena);
  NEW(e.arena, plan, Dp__Plan, DP__PLAN__INIT);
  plan->producer = dp_proto_string("dpc");
  plan->name = dp_proto_string(model->name);
  plan->symbol = dp_proto_string(model->symbol);
  plan->batch = model->batch;
  plan->opset = model->opset;
  plan->n_mesh = (size_t)model->mesh.n_axes;
  plan->mesh = dp_proto_from_mesh(e.arena, &model->mesh);
  plan->loss = dp_proto_string(model->loss);
  plan->optimizer = dp_proto_string(model->optimizer);
  plan->strategy = dp_proto_string(compile->strategy->name);
  plan->precision = compile->options->precision == DP_FLOAT32 ? DP_NO_TYPE : compile->options->precision;
  plan->reproducible = compile->options->reproducible;
  plan->tf32 = dp_options_fast_math(compile->options, "tf32");
  plan->winograd = dp_options_fast_math(compile->options, "winograd");
  plan->target = emit_target(&e);
  plan->calibration = dp_emit_calibration(e.arena, compile->options->calibrated);
  DP_TRY(dp_emit_learning_rate(e.arena, model->optimizer, &plan->schedule));
  for (int32_t i = 0; i < model->n_variables; i++) {
    Dp__Variable *p = dp_proto_from_variable(e.arena, &model->variables[i], model->mesh.n_axes);
    p->n_constraints = 0;
    DP_PUSH(e.arena, plan->variables, plan->n_variables, p);
  }
  bool staged = model->n_graphs && model->graphs[0]->stage >= 0;
  for (int stage = 0; stage < (staged ? dp_mesh_stages(&model->mesh) : 1); stage++)
    DP_PUSH(e.arena, plan->roles, plan->n_roles, emit_role(&e, stage, staged));
  emit_graphs(&e, plan);
  dp_proto_shared_destroy(e.shared);
  DP_TRY(check_stages(plan));
  compile->plan = plan;
  return DP_OK;
}

const dp_pass dp_pass_emit = {
    .name = "emit",
    .what = "writes the plan",
    .needs = DP_HAS_MEMORY,
    .gives = DP_HAS_PLAN,
    .run = run,
};
