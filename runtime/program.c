// Binding a program: units, their operands' addresses, kernels, order. See program.h.
#include "runtime/program.h"

#include <string.h>

#include "ir/proto.h"

typedef struct {
  dp_arena *arena;
  const dp_binding *binding;
  const Dp__Program *program;
  const dp_graph *graph;
  int64_t n;
  dp_bound *bound;
  int **unit_of;         // [device][instruction, counted over all streams]
  int *first_of_stream;  // (streams + 1)
  int *signaller;        // [event] instruction, counted likewise
} binding_work;

// ---- operands -------------------------------------------------------------------------------------------------------

static dp_kernel_operand operand_of(const binding_work *w, const Dp__DeviceTensor *t, int device) {
  dp_placement placements[DP_MAX_MESH] = {0};
  for (size_t a = 0; a < t->n_placements; a++) (void)!dp_proto_to_placement(t->placements[a], &placements[a]);
  int64_t coordinate[DP_MAX_MESH];
  dp_mesh_coordinate(w->binding->mesh, device, coordinate);
  const dp_type *type = &w->graph->values[t->value]->type;
  return (dp_kernel_operand){type->dtype, true,
                             dp_shard_range(&type->shape, placements, w->binding->mesh, coordinate, w->n)};
}

static char *address_of(const binding_work *w, const Dp__DeviceTensor *t, int device) {
  switch (t->space) {
    case DP__SPACE__PERSISTENT:
      return w->binding->devices[device].persistent + t->offset;
    case DP__SPACE__TRANSIENT:
      return w->binding->devices[device].transient + t->offset;
    case DP__SPACE__HOST_INPUT:
      return w->binding->host_input[0] + t->offset;
    case DP__SPACE__HOST_OUTPUT:
      return w->binding->host_output + t->offset;
    default:
      return NULL;
  }
}

static void add_range(const binding_work *w, dp_unit *unit, const void *first, uint64_t bytes, bool written) {
  if (!bytes) return;
  dp_range range = {first, bytes, written};
  DP_PUSH(w->arena, unit->ranges, unit->n_ranges, range);
}

static uint64_t operand_bytes(const dp_kernel_operand *x) {
  return (uint64_t)dp_local_count(&x->local) * dp_type_bytes(x->dtype);
}

// ---- kernels --------------------------------------------------------------------------------------------------------

static dp_status bind_kernel(const binding_work *w, dp_unit *unit, const dp_node *node) {
  const Dp__Instruction *in = unit->instruction;
  int device = unit->devices[0];
  dp_kernel_spec *spec = dp_alloc(w->arena, sizeof *spec);
  unit->kernel = dp_kernel_find(w->binding->backend->target, in->kernel);
  if (!unit->kernel)
    return dp_fail(EX_UNAVAILABLE, "backend %s has no kernel '%s': compile the model again with this version of dpc",
                   w->binding->backend->name, in->kernel);
  unit->spec = spec;
  spec->op = node->op;
  spec->node = node;
  spec->threads = in->threads ? (int)in->threads : 1;
  spec->n_inputs = (int)in->n_inputs;
  spec->n_outputs = (int)in->n_outputs;
  for (int i = 0; i < spec->n_inputs; i++) {
    if (!in->inputs[i]) continue;
    const Dp__DeviceTensor *t = w->program->tensors[in->inputs[i] - 1];
    spec->inputs[i] = operand_of(w, t, device);
    unit->in[i] = address_of(w, t, device);
    add_range(w, unit, unit->in[i], operand_bytes(&spec->inputs[i]), false);
  }
  for (int i = 0; i < spec->n_outputs; i++) {
    if (!in->outputs[i]) continue;
    const Dp__DeviceTensor *t = w->program->tensors[in->outputs[i] - 1];
    spec->outputs[i] = operand_of(w, t, device);
    unit->out[i] = address_of(w, t, device);
    add_range(w, unit, unit->out[i], operand_bytes(&spec->outputs[i]), true);
  }
  if (in->scratch && in->scratch->bytes) {
    unit->scratch = w->binding->devices[device].transient + in->scratch->offset;
    add_range(w, unit, unit->scratch, in->scratch->bytes, true);
  }
  uint64_t needed = unit->kernel->scratch_bytes ? unit->kernel->scratch_bytes(spec) : 0;
  uint64_t given = in->scratch ? in->scratch->bytes : 0;
  if (needed > given)
    return dp_fail(
        EX_UNAVAILABLE,
        "kernel %s asks %llu bytes of scratch on this machine, the plan has %llu: compile it here (dpc compile MODEL, "
        "with --isa and --threads as wanted)",
        in->kernel, (unsigned long long)needed, (unsigned long long)given);
  if (!unit->kernel->prepare || !w->binding->backend->computes) return DP_OK;
  return dp_status_context(unit->kernel->prepare(spec, &unit->state), "kernel %s", in->kernel);
}

// ---- communication --------------------------------------------------------------------------------------------------

static dp_shard_view view_of(const binding_work *w, const Dp__DeviceTensor *t, int device) {
  dp_kernel_operand operand = operand_of(w, t, device);
  return (dp_shard_view){address_of(w, t, device), operand.local};
}

// Between host and devices each device moves its own part. Of equal copies coordinate 0's goes to the host.
static bool speaks(const binding_work *w, const Dp__DeviceTensor *t, int device) {
  int64_t coordinate[DP_MAX_MESH];
  dp_mesh_coordinate(w->binding->mesh, device, coordinate);
  for (size_t a = 0; a < t->n_placements; a++)
    if (t->placements[a]->kind == DP_REPLICATE && coordinate[a]) return false;
  return true;
}

static dp_region_action action_of(const Dp__DeviceTensor *from, const Dp__DeviceTensor *to) {
  for (size_t a = 0; a < from->n_placements; a++)
    if (from->placements[a]->kind == DP_PARTIAL && to->placements[a]->kind != DP_PARTIAL)
      return from->placements[a]->reduction == DP_MAX ? DP_REGION_MAX : DP_REGION_SUM;
  return DP_REGION_COPY;
}

static bool any_shard(const Dp__DeviceTensor *t) {
  for (size_t a = 0; a < t->n_placements; a++)
    if (t->placements[a]->kind == DP_SHARD) return true;
  return false;
}

// Host memory that several steps use at once is left out: inputs, which are only read, and an output of which each device
// writes its own part.
static void add_transfer_ranges(const binding_work *w, dp_unit *unit, const Dp__DeviceTensor *from,
                                const Dp__DeviceTensor *to, const dp_shard_view *sources,
                                const dp_shard_view *targets) {
  size_t bytes = dp_type_bytes(w->graph->values[from->value]->type.dtype);
  bool to_host = to->space == DP__SPACE__HOST_OUTPUT;
  for (int m = 0; m < unit->n_devices; m++) {
    if (from->space != DP__SPACE__HOST_INPUT)
      add_range(w, unit, sources[m].data, (uint64_t)dp_local_count(&sources[m].local) * bytes, false);
    if (!to_host || (!any_shard(from) && speaks(w, from, unit->devices[m])))
      add_range(w, unit, targets[m].data, (uint64_t)dp_local_count(&targets[m].local) * bytes, true);
  }
}

static dp_status bind_communication(const binding_work *w, dp_unit *unit) {
  const Dp__Instruction *in = unit->instruction;
  if (in->communication && in->communication->n_peer)
    return dp_fail(EX_UNAVAILABLE, "sending to one peer is not built yet: compile the model for a strategy without it");
  const Dp__DeviceTensor *from = w->program->tensors[in->inputs[0] - 1], *to = w->program->tensors[in->outputs[0] - 1];
  int n = unit->n_devices;
  dp_shard_view *sources = dp_alloc_n(w->arena, (size_t)n, sizeof *sources);
  dp_shard_view *targets = dp_alloc_n(w->arena, (size_t)n, sizeof *targets);
  dp_dtype dtype = w->graph->values[from->value]->type.dtype;
  for (int m = 0; m < n; m++) {
    sources[m] = view_of(w, from, unit->devices[m]);
    targets[m] = view_of(w, to, unit->devices[m]);
  }
  dp_region_action action = action_of(from, to);
  if (!dp_region_can(action, dtype))
    return dp_fail(EX_UNAVAILABLE, "%s of %s is not supported", in->op, dp_type_name(dtype));
  add_transfer_ranges(w, unit, from, to, sources, targets);
  if (to->space == DP__SPACE__HOST_OUTPUT && !speaks(w, from, unit->devices[0])) return DP_OK;
  bool flat = action != DP_REGION_COPY && !memcmp(&sources[0].local, &targets[0].local, sizeof sources[0].local);
  unit->transfer = flat ? dp_transfer_all_reduce(w->arena, dtype, action, n, sources, targets)
                        : dp_transfer_shards(w->arena, dtype, action, n, sources, n, targets);
  if (from->space == DP__SPACE__HOST_INPUT) {
    unit->transfer->from_host_input = true;
    unit->transfer->host_copy_distance = w->binding->host_input[1] - w->binding->host_input[0];
  }
  return DP_OK;
}

// ---- units ----------------------------------------------------------------------------------------------------------

static bool is_communication(const Dp__Instruction *in) { return !in->kernel || !*in->kernel; }

// Whether a conversion gives each device something of its peers': on one of its axes it is not Replicate before.
static bool meets_peers(const binding_work *w, const Dp__Instruction *in) {
  const Dp__DeviceTensor *from = w->program->tensors[in->inputs[0] - 1];
  for (size_t i = 0; i < in->communication->n_axes; i++)
    if (from->placements[in->communication->axes[i]]->kind != DP_REPLICATE) return true;
  return false;
}

// The devices that take part with `device`: those that differ on the instruction's axes only, in rank order.
static void group_of(const binding_work *w, const Dp__Instruction *in, int device, dp_unit *unit) {
  const dp_mesh *mesh = w->binding->mesh;
  int64_t mine[DP_MAX_MESH], other[DP_MAX_MESH];
  bool along[DP_MAX_MESH] = {0};
  if (is_communication(in) && in->communication && meets_peers(w, in))
    for (size_t i = 0; i < in->communication->n_axes; i++) along[in->communication->axes[i]] = true;
  dp_mesh_coordinate(mesh, device, mine);
  int64_t members = 1;
  for (int a = 0; a < mesh->n_axes; a++)
    if (along[a]) members *= mesh->axes[a].size;
  unit->devices = dp_alloc_n(w->arena, (size_t)members, sizeof *unit->devices);
  for (int64_t m = 0; m < members; m++) {
    int64_t rest = m;
    memcpy(other, mine, sizeof other);
    for (int a = mesh->n_axes - 1; a >= 0; a--)
      if (along[a]) {
        other[a] = rest % mesh->axes[a].size;
        rest /= mesh->axes[a].size;
      }
    unit->devices[unit->n_devices++] = (int)dp_mesh_device(mesh, other);
  }
}

static dp_status make_units(binding_work *w, dp_node *const *const *nodes) {
  for (size_t s = 0; s < w->program->n_streams; s++) {
    const Dp__Stream *stream = w->program->streams[s];
    for (size_t i = 0; i < stream->n_instructions; i++) {
      const Dp__Instruction *in = stream->instructions[i];
      int flat = w->first_of_stream[s] + (int)i;
      if (in->signal) w->signaller[in->signal - 1] = flat;
      for (int d = 0; d < w->binding->n_devices; d++) {
        if (w->unit_of[d][flat] >= 0) continue;
        dp_unit unit = {.instruction = in, .stream = stream->name, .stream_index = (int)s};
        group_of(w, in, d, &unit);
        dp_status status = is_communication(in) ? bind_communication(w, &unit) : bind_kernel(w, &unit, nodes[s][i]);
        if (status) return dp_status_context(status, "stream %s, instruction %zu (%s)", stream->name, i, in->op);
        for (int m = 0; m < unit.n_devices; m++) w->unit_of[unit.devices[m]][flat] = w->bound->schedule.n_units;
        DP_PUSH(w->arena, w->bound->units, w->bound->schedule.n_units, unit);
      }
    }
  }
  return DP_OK;
}

// ---- order ----------------------------------------------------------------------------------------------------------

// Calls visit for each edge: what an instruction follows on each of its devices.
static void each_edge(const binding_work *w, void (*visit)(dp_schedule *s, int before, int after)) {
  for (size_t s = 0; s < w->program->n_streams; s++) {
    const Dp__Stream *stream = w->program->streams[s];
    for (size_t i = 0; i < stream->n_instructions; i++) {
      int flat = w->first_of_stream[s] + (int)i;
      for (int d = 0; d < w->binding->n_devices; d++) {
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

static void make_order(const binding_work *w) {
  dp_schedule *s = &w->bound->schedule;
  size_t n = (size_t)s->n_units;
  s->n_parts = dp_alloc_n(w->arena, n + 1, sizeof *s->n_parts);
  s->n_before = dp_alloc_n(w->arena, n + 1, sizeof *s->n_before);
  s->first_after = dp_alloc_n(w->arena, n + 2, sizeof *s->first_after);
  for (size_t u = 0; u < n; u++) {
    const dp_unit *unit = &w->bound->units[u];
    s->n_parts[u] = unit->kernel && unit->kernel->parts ? unit->spec->threads
                    : unit->transfer                    ? unit->transfer->n_parts
                                                        : 1;
  }
  each_edge(w, count_edge);
  for (size_t u = 0; u < n; u++) s->first_after[u + 1] += s->first_after[u];
  s->after = dp_alloc_n(w->arena, (size_t)s->first_after[n] + 1, sizeof *s->after);
  each_edge(w, enter_edge);  // leaves each first where the next one's is
  memmove(s->first_after + 1, s->first_after, n * sizeof *s->first_after);
  s->first_after[0] = 0;
}

dp_status dp_bound_make(dp_arena *arena, const dp_binding *binding, const Dp__Program *program, const dp_graph *graph,
                        dp_node *const *const *nodes, int64_t n, dp_bound *bound) {
  binding_work w = {.arena = arena, .binding = binding, .program = program, .graph = graph, .n = n, .bound = bound};
  bound->n = n;
  bound->binding = binding;
  w.first_of_stream = dp_alloc_n(arena, program->n_streams + 1, sizeof *w.first_of_stream);
  for (size_t s = 0; s < program->n_streams; s++)
    w.first_of_stream[s + 1] = w.first_of_stream[s] + (int)program->streams[s]->n_instructions;
  int total = w.first_of_stream[program->n_streams];
  w.signaller = dp_alloc_n(arena, program->events, sizeof *w.signaller);
  w.unit_of = dp_alloc_n(arena, (size_t)binding->n_devices, sizeof *w.unit_of);
  for (int d = 0; d < binding->n_devices; d++) {
    w.unit_of[d] = dp_alloc_n(arena, (size_t)total, sizeof **w.unit_of);
    memset(w.unit_of[d], 0xff, (size_t)total * sizeof **w.unit_of);
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
