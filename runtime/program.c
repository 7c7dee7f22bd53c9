// Binding a program: its units and their order. See program.h; what a unit does is bound in bind.c.
#include "runtime/program.h"

#include <string.h>

#include "runtime/trace.h"

typedef struct {
  dp_bind bind;
  dp_bound *bound;
  int n_devices;
  int **unit_of;         // [device][instruction, counted over all streams]; -1: not made yet
  int *first_of_stream;  // (streams + 1)
  int *signaller;        // [event] instruction, counted likewise
} making;

// ---- units ----------------------------------------------------------------------------------------------------------

// The units of one instruction. `flat`: its number, counted over all streams.
static dp_status make_units_of(making *w, dp_node *const *const *nodes, size_t s, size_t i, int flat) {
  const Dp__Stream *stream = w->bind.program->streams[s];
  const Dp__Instruction *in = stream->instructions[i];
  w->bind.last = NULL;
  for (int d = 0; d < w->n_devices; d++) {
    if (w->unit_of[d][flat] >= 0) continue;
    dp_unit unit = {.instruction = in, .stream = stream->name, .stream_index = (int)s};
    if (in->n_nodes) unit.name = w->bind.graph->nodes[in->nodes[0]]->name;
    dp_bind_group(&w->bind, d, &unit);
    dp_status status = dp_bind_is_communication(in) ? dp_bind_communication(&w->bind, &unit)
                                                    : dp_bind_kernel(&w->bind, nodes[s][i], &unit);
    if (status) return dp_status_context(status, "stream %s, instruction %zu (%s)", stream->name, i, in->op);
    for (int m = 0; m < unit.n_devices; m++) w->unit_of[unit.devices[m]][flat] = w->bound->schedule.n_units;
    DP_PUSH(w->bind.arena, w->bound->units, w->bound->schedule.n_units, unit);
  }
  return DP_OK;
}

static dp_status make_units(making *w, dp_node *const *const *nodes) {
  for (size_t s = 0; s < w->bind.program->n_streams; s++) {
    const Dp__Stream *stream = w->bind.program->streams[s];
    for (size_t i = 0; i < stream->n_instructions; i++) {
      int flat = w->first_of_stream[s] + (int)i;
      if (stream->instructions[i]->signal) w->signaller[stream->instructions[i]->signal - 1] = flat;
      DP_TRY(make_units_of(w, nodes, s, i, flat));
    }
  }
  return DP_OK;
}

// ---- order ----------------------------------------------------------------------------------------------------------

// Calls visit for each edge: what an instruction follows on each of its devices.
static void each_edge(const making *w, void (*visit)(dp_schedule *s, int before, int after)) {
  for (size_t s = 0; s < w->bind.program->n_streams; s++) {
    const Dp__Stream *stream = w->bind.program->streams[s];
    for (size_t i = 0; i < stream->n_instructions; i++) {
      int flat = w->first_of_stream[s] + (int)i;
      for (int d = 0; d < w->n_devices; d++) {
        int after = w->unit_of[d][flat];
        if (i) visit(&w->bound->schedule, w->unit_of[d][flat - 1], after);
        for (size_t e = 0; e < stream->instructions[i]->n_waits; e++)
          visit(&w->bound->schedule, w->unit_of[d][w->signaller[stream->instructions[i]->waits[e]]], after);
      }
    }
  }
}

static void count_edge(dp_schedule *s, int before, int after) {
  s->first_after[before + 1]++;
  s->n_before[after]++;
}

static void enter_edge(dp_schedule *s, int before, int after) { s->after[s->first_after[before]++] = after; }

static void make_order(const making *w) {
  dp_schedule *s = &w->bound->schedule;
  size_t n = (size_t)s->n_units;
  s->n_parts = dp_alloc_n(w->bind.arena, n + 1, sizeof *s->n_parts);
  s->n_before = dp_alloc_n(w->bind.arena, n + 1, sizeof *s->n_before);
  s->first_after = dp_alloc_n(w->bind.arena, n + 2, sizeof *s->first_after);
  for (size_t u = 0; u < n; u++) {
    const dp_unit *unit = &w->bound->units[u];
    s->n_parts[u] = unit->kernel && unit->kernel->parts ? unit->spec->threads
                    : unit->transfer                    ? unit->transfer->n_parts
                                                        : 1;
  }
  each_edge(w, count_edge);
  for (size_t u = 0; u < n; u++) s->first_after[u + 1] += s->first_after[u];
  s->after = dp_alloc_n(w->bind.arena, (size_t)s->first_after[n] + 1, sizeof *s->after);
  each_edge(w, enter_edge);  // leaves each first where the next one's is
  memmove(s->first_after + 1, s->first_after, n * sizeof *s->first_after);
  s->first_after[0] = 0;
}

dp_status dp_bound_make(dp_arena *arena, const dp_binding *binding, const Dp__Program *program, const dp_graph *graph,
                        dp_node *const *const *nodes, int64_t n, dp_bound *bound) {
  making w = {{arena, binding, program, graph, n, NULL}, bound, binding->memory->n_devices, NULL, NULL, NULL};
  bound->n = n;
  bound->binding = binding;
  bound->schedule.run = dp_bound_run;
  bound->schedule.context = bound;
  w.first_of_stream = dp_alloc_n(arena, program->n_streams + 1, sizeof *w.first_of_stream);
  for (size_t s = 0; s < program->n_streams; s++)
    w.first_of_stream[s + 1] = w.first_of_stream[s] + (int)program->streams[s]->n_instructions;
  size_t total = (size_t)w.first_of_stream[program->n_streams];
  w.signaller = dp_alloc_n(arena, program->events, sizeof *w.signaller);
  w.unit_of = dp_alloc_n(arena, (size_t)w.n_devices, sizeof *w.unit_of);
  for (int d = 0; d < w.n_devices; d++) {
    w.unit_of[d] = dp_alloc_n(arena, total, sizeof **w.unit_of);
    memset(w.unit_of[d], 0xff, total * sizeof **w.unit_of);
  }
  DP_TRY(make_units(&w, nodes));
  make_order(&w);
  return dp_pool_prepare(&bound->schedule, &bound->state);
}

void dp_bound_release(dp_bound *bound) {
  for (int u = 0; u < bound->schedule.n_units; u++)
    if (bound->units[u].kernel && bound->units[u].kernel->release && bound->units[u].state)
      bound->units[u].kernel->release(bound->units[u].state);
  dp_pool_release(bound->state);
}

// ---- running --------------------------------------------------------------------------------------------------------

dp_status dp_bound_run(void *context, int index, int part, int parts) {
  const dp_bound *bound = context;
  const dp_unit *unit = &bound->units[index];
  const dp_binding *binding = bound->binding;
  const dp_backend *backend = binding->memory->backend;
  int64_t begin_ns = binding->trace ? dp_trace_now() : 0;
  if (backend->enter) DP_TRY(backend->enter(binding->watch, unit->ranges, unit->n_ranges, parts));
  dp_status status = DP_OK;
  if (backend->computes && unit->kernel)
    status = unit->kernel->run(unit->spec, unit->state, unit->in, unit->out, unit->scratch, part, parts);
  else if (backend->computes && unit->transfer)
    dp_transfer_run(unit->transfer, bound->slot, part);
  if (backend->leave) backend->leave(binding->watch, unit->ranges, unit->n_ranges);
  if (binding->trace) dp_trace_record(binding->trace, unit, bound, begin_ns, dp_trace_now());
  return unit->name ? dp_status_context(status, "node '%s' (%s)", unit->name, unit->instruction->op) : status;
}
