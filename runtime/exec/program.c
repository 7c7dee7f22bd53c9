// Binds a program: its units and their order. See program.h. runtime/bind/bind.c and runtime/bind/communication.c bind
// each unit.
#include "runtime/exec/program.h"

#include <string.h>

#include "runtime/bind/bind.h"
#include "runtime/bind/channel.h"
#include "runtime/exec/finite.h"
#include "runtime/exec/trace.h"

// What one role does. Instructions are numbered over all streams.
typedef struct {
  dp_bind bind;
  dp_node *const *const *nodes;
  const dp_role_devices *devices;
  int *first_of_stream;  // (streams + 1)
  int *signaller;        // [event] the instruction that signals it; -1: none
} making_role;

typedef struct {
  dp_arena *arena;
  const dp_binding *binding;
  dp_bound *bound;
  making_role *roles;  // (roles)
  int **unit_of;       // [device][instruction of its role]; -1: not made yet
  dp_channels channels;
} making;

// ---- units ----------------------------------------------------------------------------------------------------------

static dp_unit *add_unit(making *w, const dp_unit *unit) {
  DP_PUSH(w->arena, w->bound->units, w->bound->task_graph.n_units, *unit);
  return &w->bound->units[w->bound->task_graph.n_units - 1];
}

static void complete(void *context, int unit, dp_status status) {
  const dp_bound *bound = context;
  const dp_unit *u = &bound->units[unit];
  if (status) status = dp_status_context(status, "%s of '%s'", u->at->instruction->op, u->moved ? u->moved : "?");
  bound->executor->calls->arrive(bound->executor->self, unit, status);
}

static void abandon(void *context) {
  const dp_bound *bound = context;
  bound->binding->peers->abandon(bound->binding->peers->self, bound->run);
}

// Adds a unit that posts what the next one exchanges.
static void add_post(making *w, const dp_unit *unit) {
  dp_unit post = *unit;
  post.posts = true;
  post.transfer = NULL;
  post.n_ranges = 0;
  add_unit(w, &post);
  dp_exchange_then(unit->exchange, complete, w->bound, w->bound->task_graph.n_units);
}

// What it is and where the plan has it, for people: as `dpc show` numbers instructions, in each stream from 0.
static const char *describe(const making *w, const dp_unit *u) {
  const making_role *p = &w->roles[u->role];
  const dp_instruction_at *at = u->at;
  return dp_printf(w->arena, "%s of '%s' (role %s, program %s, stream %s, instruction %d)", at->instruction->op,
                   u->moved ? u->moved : "", w->binding->roles->roles[u->role].role->name, p->bind.program->name,
                   at->stream, u->number - p->first_of_stream[at->stream_index]);
}

// Adds a unit that communicates. The backend prepares it if its devices work by themselves.
static dp_status add_communication(making *w, const dp_unit *unit) {
  const dp_queue_calls *queues = w->binding->memory->backend->queues;
  if (unit->exchange) add_post(w, unit);
  dp_unit *added = add_unit(w, unit);
  if (!queues || !added->transfer) return DP_OK;
  added->transfer->what = describe(w, added);
  added->transfer->in_rank_order = w->binding->in_rank_order;
  return queues->transfer_prepare(added->devices, added->n_devices, added->transfer, &added->transfer_state);
}

// The micro-batch of its operands and results; -1: they have none, or several at once.
static int micro_of(const dp_bind *b, const Dp__Instruction *in) {
  int micro = -1;
  for (size_t i = 0; i < in->n_inputs + in->n_outputs; i++) {
    uint32_t operand = i < in->n_inputs ? in->inputs[i] : in->outputs[i - in->n_inputs];
    const Dp__MicroSet *set = operand ? dp_bind_tensor(b, operand)->micro : NULL;
    if (set && set->count == 1) micro = (int)set->first;
  }
  return micro;
}

// The name of the value that a communication moves.
static const char *moved_by(const dp_bind *b, const Dp__Instruction *in) {
  uint32_t tensor = in->n_inputs ? in->inputs[0] : in->n_outputs ? in->outputs[0] : 0;
  return tensor ? b->graph->values[b->program->tensors[tensor - 1]->value]->name : NULL;
}

// A transfer has one unit, made at the first of its two instructions.
static dp_status make_between(making *w, const dp_instruction_at *at, int device) {
  const dp_channel_end *ends = dp_channels_find(&w->channels, at->instruction);
  bool receives = ends[1].at.instruction == at->instruction;
  int other;
  DP_TRY(dp_channel_meet(w->binding, ends, receives, device, &other));
  dp_unit unit = {.at = {ends[0].at, ends[1].at}, .between_two = true, .n_devices = 2};
  unit.role = ends[0].role;
  unit.number = ends[0].flat;
  unit.micro = micro_of(&w->roles[ends[0].role].bind, ends[0].at.instruction);
  unit.moved = moved_by(&w->roles[ends[0].role].bind, ends[0].at.instruction);
  unit.devices = dp_alloc_n(w->arena, 2, sizeof *unit.devices);
  unit.devices[receives] = device;
  unit.devices[!receives] = other;
  DP_TRY(dp_bind_between(&w->roles[ends[0].role].bind, &w->roles[ends[1].role].bind, &unit));
  if (w->binding->trace) dp_bind_costs(&w->roles[ends[0].role].bind, &w->roles[ends[1].role].bind, &unit);
  DP_TRY(add_communication(w, &unit));
  for (int e = 0; e < 2; e++) w->unit_of[unit.devices[e]][ends[e].flat] = w->bound->task_graph.n_units - 1;
  return DP_OK;
}

static dp_status make_unit(making *w, making_role *p, const dp_instruction_at *at, size_t i, int device) {
  int flat = p->first_of_stream[at->stream_index] + (int)i;
  const Dp__Instruction *in = at->instruction;
  if (w->unit_of[device][flat] >= 0) return DP_OK;
  if (dp_channel_is(in)) return make_between(w, at, device);
  dp_unit unit = {.at = {*at}, .micro = micro_of(&p->bind, in), .role = (int)(p - w->roles), .number = flat};
  if (in->n_nodes) unit.name = p->bind.graph->nodes[in->nodes[0]]->name;
  if (dp_bind_is_communication(in)) {
    unit.moved = moved_by(&p->bind, in);
    DP_TRY(dp_bind_group(&p->bind, device, &unit));
    DP_TRY(dp_bind_collective(&p->bind, &unit));
  } else {
    unit.devices = dp_memdup(w->arena, &device, sizeof device);
    unit.n_devices = 1;
    DP_TRY(dp_bind_kernel(&p->bind, p->nodes[at->stream_index][i], &unit));
  }
  if (w->binding->trace) dp_bind_costs(&p->bind, &p->bind, &unit);
  if (unit.kernel)
    add_unit(w, &unit);
  else
    DP_TRY(add_communication(w, &unit));
  for (int m = 0; m < unit.n_devices; m++) w->unit_of[unit.devices[m]][flat] = w->bound->task_graph.n_units - 1;
  return DP_OK;
}

static dp_status make_units(making *w, making_role *p) {
  for (size_t s = 0; s < p->bind.program->n_streams; s++) {
    const Dp__Stream *stream = p->bind.program->streams[s];
    for (size_t i = 0; i < stream->n_instructions; i++) {
      const dp_instruction_at at = {stream->instructions[i], stream->name, (int)s};
      p->bind.last = NULL;
      for (int d = 0; d < p->devices->n_devices; d++) {
        if (!dp_peers_here(w->binding->peers, p->devices->devices[d])) continue;
        dp_status status = make_unit(w, p, &at, i, p->devices->devices[d]);
        if (status)
          return dp_status_context(status, "stream %s, instruction %zu (%s)", stream->name, i, at.instruction->op);
      }
    }
  }
  return DP_OK;
}

// ---- order ----------------------------------------------------------------------------------------------------------

typedef void visit(dp_task_graph *s, int before, int after);

// The first unit of the instruction that this one ends.
static int first_of(const making *w, int unit) { return unit - (w->bound->units[unit].exchange != NULL); }

// Visits the edges into an instruction, on each of its devices.
static void each_edge_of(const making *w, const making_role *p, const Dp__Instruction *in, int flat, bool first,
                         visit *visit) {
  for (int k = 0; k < p->devices->n_devices; k++) {
    if (!dp_peers_here(w->binding->peers, p->devices->devices[k])) continue;
    const int *unit_of = w->unit_of[p->devices->devices[k]], unit = first_of(w, unit_of[flat]);
    if (!first) visit(&w->bound->task_graph, unit_of[flat - 1], unit);
    for (size_t e = 0; e < in->n_waits; e++)
      if (p->signaller[in->waits[e]] >= 0) visit(&w->bound->task_graph, unit_of[p->signaller[in->waits[e]]], unit);
  }
}

static void each_edge(const making *w, visit *visit) {
  for (int u = 0; u < w->bound->task_graph.n_units; u++)
    if (w->bound->units[u].posts) visit(&w->bound->task_graph, u, u + 1);
  for (int r = 0; r < w->binding->roles->n_roles; r++) {
    const making_role *p = &w->roles[r];
    for (size_t s = 0; p->bind.program && s < p->bind.program->n_streams; s++) {
      const Dp__Stream *stream = p->bind.program->streams[s];
      for (size_t i = 0; i < stream->n_instructions; i++)
        each_edge_of(w, p, stream->instructions[i], p->first_of_stream[s] + (int)i, !i, visit);
    }
  }
}

static void count_edge(dp_task_graph *s, int before, int after) {
  s->first_after[before + 1]++;
  s->n_before[after]++;
}

static void enter_edge(dp_task_graph *s, int before, int after) { s->after[s->first_after[before]++] = after; }

static int parts_of(const dp_binding *binding, const dp_unit *unit) {
  if (binding->check_finite && unit->kernel) return 1;  // run_checked runs the parts
  if (unit->kernel && unit->kernel->parts) return unit->spec->threads;
  return unit->transfer ? unit->transfer->n_parts : 1;
}

static void make_order(const making *w) {
  dp_task_graph *s = &w->bound->task_graph;
  size_t n = (size_t)s->n_units;
  s->n_parts = dp_alloc_n(w->arena, n + 1, sizeof *s->n_parts);
  s->n_before = dp_alloc_n(w->arena, n + 1, sizeof *s->n_before);
  s->first_after = dp_alloc_n(w->arena, n + 2, sizeof *s->first_after);
  for (size_t u = 0; u < n; u++) s->n_parts[u] = parts_of(w->binding, &w->bound->units[u]);
  if (w->binding->peers) {
    s->arrives_at = dp_alloc_n(w->arena, n + 1, sizeof *s->arrives_at);
    for (size_t u = 0; u < n; u++) s->arrives_at[u] = w->bound->units[u].posts ? (int)u + 1 : -1;
  }
  each_edge(w, count_edge);
  for (size_t u = 0; u < n; u++) s->first_after[u + 1] += s->first_after[u];
  s->after = dp_alloc_n(w->arena, (size_t)s->first_after[n] + 1, sizeof *s->after);
  each_edge(w, enter_edge);  // leaves first_after[i] where that of i + 1 starts
  memmove(s->first_after + 1, s->first_after, n * sizeof *s->first_after);
  s->first_after[0] = 0;
}

// Fails unless every unit can run eventually.
static dp_status check_order(const making *w) {
  const dp_task_graph *g = &w->bound->task_graph;
  int *order = dp_alloc_n(w->arena, (size_t)g->n_units + 1, sizeof *order);
  int *before = dp_alloc_n(w->arena, (size_t)g->n_units + 1, sizeof *before), stuck = 0;
  if (dp_task_graph_order(g, order, before) == g->n_units) return DP_OK;
  while (!before[stuck]) stuck++;
  const dp_instruction_at *at = w->bound->units[stuck].at;
  return dp_fail(EX_DATAERR, "stream %s: %s never runs, because steps wait for each other in a cycle", at->stream,
                 at->instruction->op);
}

// ---- lanes ----------------------------------------------------------------------------------------------------------

// Whether all that a stream does is communication, which others wait for.
static bool communicates(const Dp__Stream *stream) {
  for (size_t i = 0; i < stream->n_instructions; i++)
    if (!dp_bind_is_communication(stream->instructions[i])) return false;
  return true;
}

// Whether the unit's devices meet by themselves.
static bool spreads(const making *w, const dp_unit *unit) {
  const dp_queue_calls *queues = w->binding->memory->backend->queues;
  return queues && queues->transfer_spreads && unit->transfer_state && queues->transfer_spreads(unit->transfer_state);
}

// One lane for each stream of each device. A unit of several devices is in the first one's, unless it spreads.
static void make_lanes(making *w) {
  dp_task_graph *g = &w->bound->task_graph;
  const dp_role_map *roles = w->binding->roles;
  int *first = dp_alloc_n(w->arena, (size_t)roles->n_devices + 1, sizeof *first);
  for (int d = 0; d < roles->n_devices; d++) {
    const Dp__Program *program = w->roles[roles->of_device[d]].bind.program;
    first[d] = g->n_lanes;
    for (size_t s = 0; program && s < program->n_streams; s++) {
      const dp_lane lane = {d, communicates(program->streams[s]), program->streams[s]->ahead};
      DP_PUSH(w->arena, g->lanes, g->n_lanes, lane);
    }
  }
  const size_t n = (size_t)g->n_units + 1;
  g->n_lanes_of = dp_alloc_n(w->arena, n, sizeof *g->n_lanes_of);
  g->lanes_of = dp_alloc_n(w->arena, n, sizeof *g->lanes_of);
  g->spreads = dp_alloc_n(w->arena, n, sizeof *g->spreads);
  for (int u = 0; u < g->n_units; u++) {
    const dp_unit *unit = &w->bound->units[u];
    g->spreads[u] = spreads(w, unit);
    g->n_lanes_of[u] = unit->n_devices;
    g->lanes_of[u] = dp_alloc_n(w->arena, (size_t)unit->n_devices, sizeof **g->lanes_of);
    for (int m = 0; m < unit->n_devices; m++)
      g->lanes_of[u][m] = first[unit->devices[m]] + dp_unit_at(unit, m)->stream_index;
  }
}

// ---- making ---------------------------------------------------------------------------------------------------------

static dp_status open_role(making *w, const dp_role_program *from, int role, int64_t n) {
  making_role *p = &w->roles[role];
  const Dp__Program *program = from->program;
  const dp_role_devices *devices = &w->binding->roles->roles[role];
  *p = (making_role){.bind = {.arena = w->arena,
                              .binding = w->binding,
                              .program = program,
                              .graph = from->graph,
                              .n = n,
                              .slot = w->bound->slot},
                     .nodes = from->nodes,
                     .devices = devices};
  if (!program) return DP_OK;
  DP_TRY(dp_bind_check(&p->bind));
  p->first_of_stream = dp_alloc_n(w->arena, program->n_streams + 1, sizeof *p->first_of_stream);
  p->signaller = dp_alloc_n(w->arena, program->events, sizeof *p->signaller);
  memset(p->signaller, 0xff, program->events * sizeof *p->signaller);
  int flat = 0;
  for (size_t s = 0; s < program->n_streams; s++) {
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++, flat++)
      if (program->streams[s]->instructions[i]->signal)
        p->signaller[program->streams[s]->instructions[i]->signal - 1] = flat;
    p->first_of_stream[s + 1] = flat;
  }
  for (int d = 0; d < devices->n_devices; d++) {
    int *unit_of = dp_alloc_n(w->arena, (size_t)flat, sizeof *unit_of);
    memset(unit_of, 0xff, (size_t)flat * sizeof *unit_of);
    w->unit_of[devices->devices[d]] = unit_of;
  }
  return DP_OK;
}

dp_status dp_bound_make(dp_arena *arena, const dp_binding *binding, const dp_role_program *programs, int64_t n,
                        dp_bound *bound) {
  const int n_roles = binding->roles->n_roles;
  making w = {.arena = arena, .binding = binding, .bound = bound};
  bound->n = n;
  bound->binding = binding;
  bound->programs = programs;
  bound->task_graph.run = dp_bound_run;
  bound->task_graph.enqueue = dp_bound_enqueue;
  bound->task_graph.waits = binding->check_finite;
  bound->task_graph.explain = dp_bound_explain;
  bound->task_graph.record = binding->trace ? dp_bound_record : NULL;
  bound->task_graph.abandon = binding->peers ? abandon : NULL;
  bound->task_graph.context = bound;
  w.roles = dp_alloc_n(arena, (size_t)n_roles, sizeof *w.roles);
  w.unit_of = dp_alloc_n(arena, (size_t)binding->roles->n_devices, sizeof *w.unit_of);
  DP_TRY(dp_channels_make(arena, n_roles, programs, &w.channels));
  for (int r = 0; r < n_roles; r++) DP_TRY(open_role(&w, &programs[r], r, n));
  for (int r = 0; r < n_roles; r++) {
    dp_status status = programs[r].program ? make_units(&w, &w.roles[r]) : DP_OK;
    if (status) return n_roles > 1 ? dp_status_context(status, "role %s", binding->roles->roles[r].role->name) : status;
  }
  for (int u = 0; u < bound->task_graph.n_units; u++)
    bound->packs |= bound->units[u].plain && binding->memory->backend->computes;
  make_order(&w);
  make_lanes(&w);
  return check_order(&w);
}

void dp_bound_release(dp_bound *bound) {
  for (int u = 0; u < bound->task_graph.n_units; u++) {
    const dp_unit *unit = &bound->units[u];
    if (unit->state && unit->kernel->release && !unit->kernel->shares_state) unit->kernel->release(unit->state);
    if (unit->transfer_state) bound->binding->memory->backend->queues->transfer_release(unit->transfer_state);
  }
}

dp_status dp_bound_pack(dp_bound *bound, uint64_t variables) {
  if (!bound->packs || bound->packed == variables) return DP_OK;
  for (int u = 0; u < bound->task_graph.n_units; u++) {
    const dp_unit *unit = &bound->units[u];
    if (!unit->plain) continue;
    dp_status status = unit->kernel->pack(unit->spec, unit->state, unit->plain, unit->packed, unit->scratch);
    if (status) return dp_bound_explain(bound, u, status);
  }
  bound->packed = variables;
  return DP_OK;
}

// ---- running --------------------------------------------------------------------------------------------------------

static dp_status run_kernel(const dp_unit *unit, int part, int parts) {
  return unit->kernel->run(unit->spec, unit->state, unit->in, unit->out, unit->scratch, part, parts);
}

// All parts in turn, with the numbers looked at before and after.
static dp_status run_checked(const dp_bound *bound, const dp_unit *unit) {
  const int parts = unit->kernel->parts ? unit->spec->threads : 1;
  dp_finite *before;
  DP_TRY(dp_finite_begin(bound, unit, &before));
  dp_status status = DP_OK;
  for (int part = 0; part < parts && !status; part++) status = run_kernel(unit, part, parts);
  dp_status after = dp_finite_end(bound, unit, before);
  if (!status) return after;
  dp_status_free(after);
  return status;
}

dp_status dp_bound_run(void *context, int index, int part, int parts) {
  const dp_bound *bound = context;
  const dp_unit *unit = &bound->units[index];
  const dp_binding *binding = bound->binding;
  const dp_backend *backend = binding->memory->backend;
  if (unit->posts) {
    dp_exchange_post(unit->exchange, bound->run);
    return DP_OK;
  }
  int64_t begin_ns = binding->trace ? dp_trace_now() : 0;
  const dp_range *ranges = bound->slot && unit->other_ranges ? unit->other_ranges : unit->ranges;
  if (backend->enter) DP_TRY(backend->enter(binding->detector, ranges, unit->n_ranges, part, parts));
  dp_status status = DP_OK;
  if (backend->computes && unit->kernel)
    status = binding->check_finite ? run_checked(bound, unit) : run_kernel(unit, part, parts);
  else if (backend->computes && unit->transfer)
    dp_transfer_run(unit->transfer, bound->slot, part);
  if (backend->leave) backend->leave(binding->detector, ranges, unit->n_ranges);
  if (binding->trace) dp_trace_record(binding->trace, unit, bound, begin_ns, dp_trace_now());
  return dp_bound_explain(context, index, status);
}

static dp_status enqueue_kernel(const dp_unit *unit, dp_queue *queue) {
  return unit->kernel->enqueue(unit->spec, unit->state, queue, unit->in, unit->out, unit->scratch);
}

// The same on a device that works by itself: waits for what comes before, and for the node.
static dp_status enqueue_checked(const dp_bound *bound, const dp_unit *unit, dp_queue *queue) {
  const dp_queue_calls *calls = bound->binding->memory->backend->queues;
  dp_finite *before;
  int instruction;
  DP_TRY(calls->finish(queue, &instruction));
  DP_TRY(dp_finite_begin(bound, unit, &before));
  dp_status status = enqueue_kernel(unit, queue);
  if (!status) status = calls->finish(queue, &instruction);
  dp_status after = dp_finite_end(bound, unit, before);
  if (!status) return after;
  dp_status_free(after);
  return status;
}

dp_status dp_bound_enqueue(void *context, int index, dp_queue *const *queues) {
  const dp_bound *bound = context;
  const dp_unit *unit = &bound->units[index];
  if (unit->kernel)
    return bound->binding->check_finite ? enqueue_checked(bound, unit, *queues) : enqueue_kernel(unit, *queues);
  if (!unit->transfer) return DP_OK;
  return bound->binding->memory->backend->queues->transfer_enqueue(queues, unit->transfer_state, bound->slot);
}

void dp_bound_record(void *context, int index, int64_t begin_ns, int64_t end_ns) {
  const dp_bound *bound = context;
  dp_trace_record(bound->binding->trace, &bound->units[index], bound, begin_ns, end_ns);
}

dp_status dp_bound_explain(void *context, int index, dp_status status) {
  const dp_unit *unit = &((const dp_bound *)context)->units[index];
  return unit->name ? dp_status_context(status, "node '%s' (%s)", unit->name, unit->at->instruction->op) : status;
}
