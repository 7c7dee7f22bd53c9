// See session.h.
#define _GNU_SOURCE
#include "runtime/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/proto.h"
#include "ir/verify/verify.h"
#include "runtime/program.h"
#include "runtime/trace.h"

enum { TRACE_SLICES = 1 << 20 };

typedef struct {
  const Dp__Program *program;
  const dp_graph *graph;
  dp_node *const *const *nodes;  // [stream][instruction]
  int n_bound;
  dp_bound **bound;  // by n, as they were asked for
} loaded_program;

struct dp_session {
  dp_arena *arena;
  const Dp__Plan *plan;
  const Dp__Role *role;
  dp_model *model;
  uint64_t seed;
  dp_binding binding;
  dp_device_memory *devices;
  uint64_t bytes[8], allocated[8];  // of one arena, by space: as the plan says; with all copies
  int n_programs;
  loaded_program *programs;
  const dp_graph **graphs;
  dp_pool *pool;
  dp_trace *trace;
};

// ---- loading --------------------------------------------------------------------------------------------------------

static dp_status load_model(dp_session *s) {
  const Dp__Plan *plan = s->plan;
  s->model = dp_model_create(s->arena, plan->name);
  s->model->batch = plan->batch;
  s->model->opset = plan->opset;
  if (*plan->symbol) s->model->symbol = plan->symbol;
  DP_TRY(dp_proto_to_mesh(plan->n_mesh, plan->mesh, &s->model->mesh));
  for (size_t i = 0; i < plan->n_persistents; i++) {
    dp_persistent p;
    DP_TRY(dp_proto_to_persistent(s->arena, plan->persistents[i], &s->model->mesh, &p));
    dp_model_add_persistent(s->model, &p);
  }
  return DP_OK;
}

static dp_status load_nodes(dp_session *s, loaded_program *program) {
  const Dp__Program *p = program->program;
  dp_graph *holder = dp_graph_create(s->model, p->name);  // of nodes that carry the instructions' attributes
  dp_node ***nodes = dp_alloc_n(s->arena, p->n_streams, sizeof *nodes);
  for (size_t i = 0; i < p->n_streams; i++) {
    const Dp__Stream *stream = p->streams[i];
    nodes[i] = dp_alloc_n(s->arena, stream->n_instructions, sizeof **nodes);
    for (size_t k = 0; k < stream->n_instructions; k++) {
      const Dp__Instruction *in = stream->instructions[k];
      const dp_op *op = dp_op_find(in->domain, in->op);
      if (!op) return dp_fail(EX_DATAERR, "there is no operator '%s'", in->op);
      int n_attrs;
      dp_attr *attrs;
      DP_TRY(dp_proto_to_attrs(s->arena, in->n_attributes, in->attributes, &n_attrs, &attrs));
      const char *name = dp_printf(s->arena, "%zu.%zu", i, k);
      nodes[i][k] = dp_graph_add_node(holder, op, name, 0, NULL, 0, NULL, n_attrs, attrs);
    }
  }
  program->nodes = (dp_node *const *const *)nodes;
  return DP_OK;
}

static dp_status load_programs(dp_session *s) {
  s->n_programs = (int)s->role->n_programs;
  s->programs = dp_alloc_n(s->arena, s->role->n_programs, sizeof *s->programs);
  s->graphs = dp_alloc_n(s->arena, s->role->n_programs, sizeof *s->graphs);
  for (int i = 0; i < s->n_programs; i++) {
    loaded_program *p = &s->programs[i];
    p->program = s->role->programs[i];
    dp_graph *graph;
    DP_TRY(dp_proto_to_graph(s->model, s->plan->graphs[p->program->graph], &graph));
    p->graph = s->graphs[i] = graph;
    DP_TRY(load_nodes(s, p));
  }
  return DP_OK;
}

static const Dp__Arena *find_arena(const Dp__Role *role, Dp__Space space) {
  for (size_t i = 0; i < role->n_arenas; i++)
    if (role->arenas[i]->space == space) return role->arenas[i];
  return NULL;
}

static dp_status allocate(dp_session *s, Dp__Space space, char **memory) {
  const Dp__Arena *arena = find_arena(s->role, space);
  uint64_t copies = space == DP__SPACE__HOST_INPUT ? DP_HOST_COPIES : 1, bytes = arena ? arena->bytes : 0;
  s->bytes[space] = bytes;
  if (!bytes) return DP_OK;
  uint64_t distance = dp_align_up(bytes, 64);
  s->allocated[space] = distance * copies;
  *memory = s->binding.backend->allocate(s->allocated[space], arena->alignment > 64 ? arena->alignment : 64);
  if (!*memory)
    return dp_fail(DP_EX_MEMORY, "no memory for an arena of %llu bytes: use a smaller batch or more devices",
                   (unsigned long long)bytes);
  return DP_OK;
}

static dp_status load_memory(dp_session *s) {
  s->binding.n_devices = (int)dp_mesh_devices(&s->model->mesh);
  s->devices = dp_alloc_n(s->arena, (size_t)s->binding.n_devices, sizeof *s->devices);
  s->binding.devices = s->devices;
  s->binding.mesh = &s->model->mesh;
  for (int d = 0; d < s->binding.n_devices; d++) {
    DP_TRY(allocate(s, DP__SPACE__PERSISTENT, &s->devices[d].persistent));
    DP_TRY(allocate(s, DP__SPACE__TRANSIENT, &s->devices[d].transient));
  }
  DP_TRY(allocate(s, DP__SPACE__HOST_INPUT, &s->binding.host_input[0]));
  if (s->binding.host_input[0])
    s->binding.host_input[1] = s->binding.host_input[0] + dp_align_up(s->bytes[DP__SPACE__HOST_INPUT], 64);
  return allocate(s, DP__SPACE__HOST_OUTPUT, &s->binding.host_output);
}

static dp_status load_weights(dp_session *s) {
  for (int32_t i = 0; i < s->model->n_persistents; i++) {
    const dp_persistent *p = &s->model->persistents[i];
    if (p->init.kind == DP_INIT_TENSOR) DP_TRY(dp_session_persistent_write(s, i, p->init.tensor->data));
  }
  int init = dp_session_find(s, "init");
  dp_step step = {0};
  return init < 0 ? DP_OK : dp_session_run(s, init, 0, &step);
}

static dp_status load_isa(dp_session *s) {
  const Dp__Target *target = s->plan->target;
  const dp_backend *backend = s->binding.backend;
  if (!target || !*target->isa || !backend->target->set_isa || !backend->computes) return DP_OK;
  return backend->target->set_isa(target->isa);
}

static dp_status load(void *arg) {
  dp_session *s = arg;
  DP_TRY(load_isa(s));
  DP_TRY(load_model(s));
  DP_TRY(load_programs(s));
  DP_TRY(load_memory(s));
  if (s->binding.backend->watch_create) s->binding.watch = s->binding.backend->watch_create();
  return load_weights(s);
}

dp_status dp_session_create(const Dp__Plan *plan, const dp_backend *backend, const dp_session_options *options,
                            dp_session **session) {
  if (!options->unchecked) DP_TRY(dp_verify_plan(plan, NULL));
  dp_arena *arena = dp_arena_create(0);
  if (!arena) return dp_fail(DP_EX_MEMORY, "no memory for a session");
  dp_session *s = dp_alloc(arena, sizeof *s);
  s->arena = arena;
  s->plan = plan;
  s->role = plan->roles[0];
  s->seed = options->seed;
  s->binding.backend = backend;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  dp_status status = dp_pool_create(options->workers > 0 ? options->workers : (int)dp_max_i64(cores, 1), &s->pool);
  if (!status && options->trace) status = dp_trace_create(TRACE_SLICES, &s->trace);
  if (!status) status = dp_arena_run(arena, load, s);
  if (status) {
    dp_session_destroy(s);
    return status;
  }
  *session = s;
  return DP_OK;
}

void dp_session_destroy(dp_session *s) {
  if (!s) return;
  dp_pool_destroy(s->pool);
  for (int p = 0; p < s->n_programs; p++)
    for (int i = 0; i < s->programs[p].n_bound; i++) dp_bound_release(s->programs[p].bound[i]);
  const dp_backend *backend = s->binding.backend;
  for (int d = 0; d < s->binding.n_devices; d++) {
    backend->release(s->devices[d].persistent, s->allocated[DP__SPACE__PERSISTENT]);
    backend->release(s->devices[d].transient, s->allocated[DP__SPACE__TRANSIENT]);
  }
  backend->release(s->binding.host_input[0], s->allocated[DP__SPACE__HOST_INPUT]);
  backend->release(s->binding.host_output, s->allocated[DP__SPACE__HOST_OUTPUT]);
  if (s->binding.watch) backend->watch_destroy(s->binding.watch);
  dp_trace_destroy(s->trace);
  dp_arena_destroy(s->arena);
}

// ---- running --------------------------------------------------------------------------------------------------------

int dp_session_find(const dp_session *s, const char *program) {
  for (int i = 0; i < s->n_programs; i++)
    if (!strcmp(s->programs[i].program->name, program)) return i;
  return -1;
}

static dp_status run_unit(void *context, int index, int part, int parts) {
  dp_bound *bound = context;
  dp_unit *unit = &bound->units[index];
  const dp_backend *backend = bound->binding->backend;
  int64_t begin_ns = bound->trace ? dp_trace_now() : 0;
  if (backend->enter) DP_TRY(backend->enter(bound->binding->watch, unit->ranges, unit->n_ranges, parts));
  dp_status status = DP_OK;
  if (backend->computes && unit->kernel)
    status = unit->kernel->run(unit->spec, unit->state, unit->in, unit->out, unit->scratch, part, parts);
  else if (backend->computes && unit->transfer)
    dp_transfer_run(unit->transfer, bound->slot, part);
  if (backend->leave) backend->leave(bound->binding->watch, unit->ranges, unit->n_ranges);
  if (bound->trace) dp_trace_record(bound->trace, unit, part, bound->program, begin_ns, dp_trace_now());
  return unit->kernel ? dp_status_context(status, "%s", unit->instruction->op) : status;
}

typedef struct {
  dp_session *session;
  int program;
  int64_t n;
  dp_bound *bound;
} preparing;

static dp_status make_bound(void *arg) {
  preparing *p = arg;
  dp_session *s = p->session;
  loaded_program *program = &s->programs[p->program];
  p->bound = dp_alloc(s->arena, sizeof *p->bound);
  DP_PUSH(s->arena, program->bound, program->n_bound, p->bound);
  DP_TRY(dp_bound_make(s->arena, &s->binding, program->program, program->graph, program->nodes, p->n, p->bound));
  p->bound->schedule.run = run_unit;
  p->bound->schedule.context = p->bound;
  p->bound->trace = s->trace;
  p->bound->program = p->program;
  return DP_OK;
}

static dp_status prepare(dp_session *s, int program, int64_t n, dp_bound **bound) {
  loaded_program *p = &s->programs[program];
  for (int i = 0; i < p->n_bound; i++)
    if (p->bound[i]->n == n && p->bound[i]->state) {
      *bound = p->bound[i];
      return DP_OK;
    }
  if (n < 0 || n > s->plan->batch)
    return dp_fail(EX_DATAERR, "a batch of %lld samples; the plan takes up to %lld", (long long)n,
                   (long long)s->plan->batch);
  preparing work = {s, program, n, NULL};
  DP_TRY(dp_status_context(dp_arena_run(s->arena, make_bound, &work), "program %s", p->program->name));
  *bound = work.bound;
  return DP_OK;
}

dp_status dp_session_prepare(dp_session *s, int program, int64_t n) {
  dp_bound *bound;
  return prepare(s, program, n, &bound);
}

static void put_scalar(dp_session *s, int program, const char *name, int slot, const void *number) {
  void *at = dp_session_input(s, program, name, slot);
  if (at) memcpy(at, number, 8);
}

dp_status dp_session_run(dp_session *s, int program, int slot, const dp_step *step) {
  dp_bound *bound;
  DP_TRY(prepare(s, program, step->n, &bound));
  put_scalar(s, program, DP_SCALAR_STEP, slot, &step->step);
  put_scalar(s, program, DP_SCALAR_N, slot, &step->n);
  put_scalar(s, program, DP_SCALAR_LR, slot, &step->lr);
  put_scalar(s, program, DP_SCALAR_SEED, slot, &s->seed);
  bound->slot = slot;
  return dp_pool_run(s->pool, &bound->schedule, bound->state);
}

// ---- host memory ----------------------------------------------------------------------------------------------------

static const Dp__DeviceTensor *find_binding(const Dp__Program *program, size_t count, Dp__Binding *const *bindings,
                                            const char *name) {
  for (size_t i = 0; i < count; i++)
    if (!strcmp(bindings[i]->name, name)) return program->tensors[bindings[i]->tensor];
  return NULL;
}

void *dp_session_input(dp_session *s, int program, const char *name, int slot) {
  const Dp__Program *p = s->programs[program].program;
  const Dp__DeviceTensor *t = find_binding(p, p->n_inputs, p->inputs, name);
  return t ? s->binding.host_input[slot] + t->offset : NULL;
}

const void *dp_session_output(dp_session *s, int program, const char *name, dp_type *type) {
  const Dp__Program *p = s->programs[program].program;
  const Dp__DeviceTensor *t = find_binding(p, p->n_outputs, p->outputs, name);
  if (t && type) *type = s->programs[program].graph->values[t->value]->type;
  return t ? s->binding.host_output + t->offset : NULL;
}

double dp_session_number(dp_session *s, int program, const char *name) {
  dp_type type;
  const void *at = dp_session_output(s, program, name, &type);
  return at ? dp_element_get(type.dtype, at) : 0;
}

// ---- persistent values ----------------------------------------------------------------------------------------------

typedef struct {
  dp_session *session;
  int32_t persistent;
  char *whole;
  bool write;
} moving;

// One device's shard and the whole tensor, one way or the other. A device that holds a copy is written like the others and
// read over, with the same content.
static dp_status move(void *arg) {
  const moving *m = arg;
  dp_session *s = m->session;
  const dp_persistent *p = &s->model->persistents[m->persistent];
  dp_placement nowhere[DP_MAX_MESH] = {0};
  int64_t at[DP_MAX_MESH] = {0};
  dp_arena *arena = dp_arena_create(0);
  if (!arena) return dp_fail(DP_EX_MEMORY, "no memory to move '%s'", p->name);
  dp_local whole = dp_shard_range(&p->type.shape, nowhere, &s->model->mesh, at, s->plan->batch);
  for (int d = 0; d < s->binding.n_devices; d++) {
    dp_mesh_coordinate(&s->model->mesh, d, at);
    dp_local part = dp_shard_range(&p->type.shape, p->placements, &s->model->mesh, at, s->plan->batch);
    char *home = s->devices[d].persistent + p->offset;
    dp_region region = m->write ? dp_region_make(arena, &part, &whole) : dp_region_make(arena, &whole, &part);
    dp_region_apply(&region, DP_REGION_COPY, p->type.dtype, m->write ? home : m->whole, m->write ? m->whole : home);
  }
  dp_arena_destroy(arena);
  return DP_OK;
}

dp_status dp_session_persistent_read(dp_session *s, int32_t persistent, void *whole) {
  return move(&(moving){s, persistent, whole, false});
}

dp_status dp_session_persistent_write(dp_session *s, int32_t persistent, const void *whole) {
  return move(&(moving){s, persistent, (char *)(uintptr_t)whole, true});
}

// ---- looking --------------------------------------------------------------------------------------------------------

const dp_model *dp_session_model(const dp_session *s) { return s->model; }

const dp_graph *dp_session_graph(const dp_session *s, int program) { return s->programs[program].graph; }

uint64_t dp_session_bytes(const dp_session *s, Dp__Space space) { return s->bytes[space]; }

dp_status dp_session_trace_write(const dp_session *s, const char *path) {
  return s->trace ? dp_trace_write(s->trace, s->graphs, path) : dp_fail(EX_SOFTWARE, "no trace was recorded");
}
