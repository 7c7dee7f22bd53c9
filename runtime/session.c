// See session.h.
#define _GNU_SOURCE
#include "runtime/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/machine.h"
#include "ir/file/proto.h"
#include "ir/plan/plan.h"
#include "ir/verify/verify.h"
#include "runtime/exec/choices.h"
#include "runtime/exec/program.h"
#include "runtime/exec/trace.h"
#include "runtime/expect.h"
#include "runtime/target.h"

enum { TRACE_SLICES = 1 << 20 };

// The programs of one name. All roles run theirs together.
typedef struct {
  dp_role_program *by_role;  // (roles)
  const dp_graph *graph;     // of the first role that has one
  bool updates;              // any variable
  int n_bound;
  dp_bound **bound;  // one for each n, or each n and slot, in the order of their first use
} loaded_program;

struct dp_session {
  dp_arena *arena;
  const Dp__Plan *plan;
  dp_role_map roles;
  dp_model *model;
  uint64_t seed;
  dp_arena *initial;  // of dp_session_options, until the first values are loaded
  dp_memory memory;
  dp_binding binding;
  uint64_t runs;
  uint64_t variables;           // how often they may have changed, plus 1
  dp_calibration *calibration;  // of the plan; NULL: it has none
  bool attached;                // to the backend
  bool alternates;              // slots are bound apart
  int n_on;                     // runs
  int slot_on[2];               // theirs, the older first
  int slot_ended;               // of the run that ended last
  int n_programs;
  loaded_program *programs;
  const char **names;    // of the programs
  dp_executor executor;  // calls NULL: not made yet
};

// ---- loading --------------------------------------------------------------------------------------------------------

static dp_status load_node(dp_graph *holder, const Dp__Instruction *in, const char *name, dp_node **node);

// The members of a region, in a graph of their own.
static dp_status load_body(dp_node *node, const Dp__Instruction *in) {
  if (!in->n_members) return DP_OK;
  node->body = dp_graph_create_within(node->graph, node->name);
  for (size_t m = 0; m < in->n_members; m++) {
    dp_node *member;
    DP_TRY(load_node(node->body, in->members[m], dp_printf(node->graph->arena, "%zu", m), &member));
  }
  dp_graph_finish(node->body);
  return DP_OK;
}

// A node that carries the instruction's attributes.
static dp_status load_node(dp_graph *holder, const Dp__Instruction *in, const char *name, dp_node **node) {
  const dp_op *op = dp_op_find(in->domain, in->op);
  if (!op) return dp_fail(EX_DATAERR, "there is no operator '%s'", in->op);
  int n_attrs;
  dp_attr *attrs;
  DP_TRY(dp_proto_to_attrs(holder->arena, in->n_attributes, in->attributes, &n_attrs, &attrs));
  // Operators may go by how many results are asked for (Split does).
  const char **unnamed = dp_alloc_n(holder->arena, in->n_outputs, sizeof *unnamed);
  *node = dp_graph_add_node(holder, op, name, 0, NULL, (int)in->n_outputs, unnamed, n_attrs, attrs);
  return load_body(*node, in);
}

static dp_status load_nodes(dp_session *s, dp_role_program *role) {
  const Dp__Program *p = role->program;
  dp_graph *holder = dp_graph_create(s->model, p->name);  // holds nodes that carry the instructions' attributes
  dp_node ***nodes = dp_alloc_n(s->arena, p->n_streams, sizeof *nodes);
  for (size_t i = 0; i < p->n_streams; i++) {
    const Dp__Stream *stream = p->streams[i];
    nodes[i] = dp_alloc_n(s->arena, stream->n_instructions, sizeof **nodes);
    for (size_t k = 0; k < stream->n_instructions; k++)
      DP_TRY(load_node(holder, stream->instructions[k], dp_printf(s->arena, "%zu.%zu", i, k), &nodes[i][k]));
  }
  dp_graph_finish(holder);
  role->nodes = (dp_node *const *const *)nodes;
  return DP_OK;
}

// Finds a program by name, or adds it.
static loaded_program *open_program(dp_session *s, const char *name) {
  int at = dp_session_find(s, name);
  if (at >= 0) return &s->programs[at];
  loaded_program program = {.by_role = dp_alloc_n(s->arena, (size_t)s->roles.n_roles, sizeof *program.by_role)};
  int n_names = s->n_programs;
  DP_PUSH(s->arena, s->names, n_names, name);
  DP_PUSH(s->arena, s->programs, s->n_programs, program);
  return &s->programs[s->n_programs - 1];
}

static dp_status load_programs(dp_session *s) {
  dp_graph **graphs = dp_alloc_n(s->arena, s->plan->n_graphs, sizeof *graphs);
  for (int r = 0; r < s->roles.n_roles; r++) {
    const Dp__Role *role = s->roles.roles[r].role;
    for (size_t i = 0; i < role->n_programs; i++) {
      const Dp__Program *program = role->programs[i];
      loaded_program *p = open_program(s, program->name);
      dp_graph **graph = &graphs[program->graph];
      if (!*graph) DP_TRY(dp_proto_to_graph(s->model, s->plan->graphs[program->graph], graph));
      if (!p->graph) p->graph = *graph;
      p->updates |= program->n_exit > 0;
      p->by_role[r] = (dp_role_program){program, *graph, NULL};
      DP_TRY(load_nodes(s, &p->by_role[r]));
    }
  }
  return DP_OK;
}

typedef struct {
  const dp_tensor *tensor;
  int32_t variable;
} first_value;

static int by_place(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t)((const first_value *)a)->tensor->data,
                  y = (uintptr_t)((const first_value *)b)->tensor->data;
  return (x > y) - (x < y);
}

// In the order in which they lie: variables may share one.
static dp_status load_tensors(dp_session *s, const first_value *values, int count) {
  for (int i = 0; i < count; i++) {
    const dp_tensor *tensor = values[i].tensor;
    DP_TRY(dp_memory_write(&s->memory, s->model, values[i].variable, tensor->data));
    if (s->initial && (i + 1 == count || values[i + 1].tensor->data != tensor->data))
      dp_arena_discard(s->initial, (void *)(uintptr_t)tensor->data, tensor->bytes);
  }
  return DP_OK;
}

static dp_status load_weights(dp_session *s) {
  dp_arena *scratch = dp_arena_create_within(s->arena);
  first_value *values = NULL;
  int count = 0;
  for (int32_t i = 0; i < s->model->n_variables && s->memory.backend->computes; i++) {
    const dp_variable *p = &s->model->variables[i];
    const first_value value = {p->init.tensor, i};
    if (p->init.kind == DP_INIT_TENSOR) DP_PUSH(scratch, values, count, value);
  }
  if (count) qsort(values, (size_t)count, sizeof *values, by_place);
  DP_TRY(load_tensors(s, values, count));
  dp_arena_destroy(scratch);
  s->initial = NULL;
  int init = dp_session_find(s, "init");
  dp_step step = {0};
  return init < 0 ? DP_OK : dp_session_run(s, init, 0, &step);
}

static void load_calibration(dp_session *s) {
  const Dp__Calibration *of_plan = s->plan->calibration;
  if (!of_plan) return;
  dp_calibration *c = dp_alloc(s->arena, sizeof *c);
  c->device = of_plan->device;
  for (size_t i = 0; i < of_plan->n_libraries; i++)
    DP_PUSH(s->arena, c->libraries, c->n_libraries, of_plan->libraries[i]);
  for (size_t i = 0; i < of_plan->n_choices; i++) {
    const dp_calibrated_choice choice = {of_plan->choices[i]->call, of_plan->choices[i]->choice, 0, 0};
    DP_PUSH(s->arena, c->choices, c->n_choices, choice);
  }
  s->calibration = c;
}

static dp_status load_detector(dp_session *s) {
  if (!s->memory.backend->detector_create) return DP_OK;
  s->binding.detector = s->memory.backend->detector_create();
  return s->binding.detector ? DP_OK : dp_fail(DP_EX_MEMORY, "no memory to watch the steps");
}

static dp_status load(void *arg) {
  dp_session *s = arg;
  const dp_peers *peers = s->binding.peers;
  if (peers && !s->executor.calls->arrive)
    return dp_fail(EX_UNAVAILABLE, "backend %s cannot share a plan with other processes", s->memory.backend->name);
  DP_TRY(dp_plan_model(s->arena, s->plan, &s->model));
  s->binding.mesh = &s->model->mesh;
  s->binding.in_rank_order = s->plan->reproducible;
  s->binding.tf32 = s->plan->tf32;
  s->binding.winograd = s->plan->winograd;
  s->binding.roles = &s->roles;
  DP_TRY(dp_role_map_make(s->arena, s->plan, &s->model->mesh, &s->roles));
  DP_TRY(load_programs(s));
  load_calibration(s);
  if (s->memory.backend->attach) DP_TRY(s->memory.backend->attach(s->roles.n_devices));
  s->attached = s->memory.backend->attach != NULL;
  DP_TRY(dp_memory_make(s->arena, &s->roles, s->memory.backend, peers, &s->memory));
  s->alternates = dp_memory_alternates(&s->memory);
  DP_TRY(load_detector(s));
  return load_weights(s);
}

static dp_status create(const Dp__Plan *plan, const dp_backend *backend, const dp_session_options *options,
                        dp_session **session) {
  if (!options->unchecked) DP_TRY(dp_verify_plan(plan, NULL));
  // Bound memory by half of the machine's, since the plan's tables may claim anything.
  dp_arena *arena = dp_arena_create((size_t)dp_machine_memory() / 2);
  if (!arena) return dp_fail(DP_EX_MEMORY, "no memory for a session");
  dp_session *s = dp_alloc(arena, sizeof *s);
  s->arena = arena;
  s->plan = plan;
  s->seed = options->seed;
  s->initial = options->initial;
  s->variables = 1;
  s->memory.backend = backend;
  s->binding.memory = &s->memory;
  s->binding.peers = options->peers;
  s->binding.check_finite = options->check_finite;
  dp_status status = dp_prepared_create(&s->binding.prepared);
  if (!status)
    status =
        dp_executor_create(backend, options->workers > 0 ? options->workers : (int)dp_machine_cores(), &s->executor);
  if (!status && options->trace) status = dp_trace_create(TRACE_SLICES, &s->binding.trace);
  if (!status) status = dp_arena_run(arena, load, s);
  if (status) {
    dp_session_destroy(s);
    return status;
  }
  *session = s;
  return DP_OK;
}

dp_status dp_session_create(const Dp__Plan *plan, const dp_backend *backend, const dp_session_options *options,
                            dp_session **session) {
  DP_TRY(dp_target_hold(plan, backend));
  dp_expect(plan, backend);
  dp_status status = create(plan, backend, options, session);
  if (status && backend->settle) backend->settle();
  return status;
}

static void release_bound(const dp_session *s, dp_bound *bound) {
  if (bound->state) s->executor.calls->release(s->executor.self, bound->state);
  dp_bound_release(bound);
}

void dp_session_destroy(dp_session *s) {
  if (!s) return;
  if (s->memory.backend->settle) s->memory.backend->settle();
  while (s->n_on) dp_status_free(dp_session_end(s));
  for (int p = 0; p < s->n_programs; p++)
    for (int i = 0; i < s->programs[p].n_bound; i++) release_bound(s, s->programs[p].bound[i]);
  if (s->executor.calls) s->executor.calls->destroy(s->executor.self);
  dp_prepared_destroy(s->binding.prepared);
  if (s->binding.detector) s->memory.backend->detector_destroy(s->binding.detector);
  dp_memory_release(&s->memory);
  if (s->attached) s->memory.backend->detach();
  dp_trace_destroy(s->binding.trace);
  dp_arena_destroy(s->arena);
}

// ---- running --------------------------------------------------------------------------------------------------------

int dp_session_find(const dp_session *s, const char *program) {
  for (int i = 0; i < s->n_programs; i++)
    if (!strcmp(s->names[i], program)) return i;
  return -1;
}

typedef struct {
  dp_session *session;
  int program;
  int64_t n;
  int slot;
  dp_bound *bound;
} preparing;

static dp_status make_bound(void *arg) {
  preparing *p = arg;
  dp_session *s = p->session;
  loaded_program *program = &s->programs[p->program];
  p->bound = dp_alloc(s->arena, sizeof *p->bound);
  DP_PUSH(s->arena, program->bound, program->n_bound, p->bound);
  p->bound->program = p->program;
  p->bound->slot = p->slot;
  p->bound->executor = &s->executor;
  DP_TRY(dp_bound_make(s->arena, &s->binding, program->by_role, p->n, p->bound));
  return s->executor.calls->prepare(s->executor.self, &p->bound->task_graph, &p->bound->state);
}

static dp_status prepare(dp_session *s, int program, int64_t n, int slot, dp_bound **bound) {
  loaded_program *p = &s->programs[program];
  for (int i = 0; i < p->n_bound; i++)
    if (p->bound[i]->n == n && (p->bound[i]->slot == slot || !s->alternates) && p->bound[i]->state) {
      *bound = p->bound[i];
      return DP_OK;
    }
  if (n < 0 || n > s->plan->batch)
    return dp_fail(EX_DATAERR, "the batch has %lld samples, but the plan takes at most %lld", (long long)n,
                   (long long)s->plan->batch);
  if (s->memory.backend->calibrate) DP_TRY(s->memory.backend->calibrate(s->calibration));
  preparing work = {s, program, n, s->alternates ? slot : 0, NULL};
  DP_TRY(dp_status_context(dp_arena_run(s->arena, make_bound, &work), "program %s", s->names[program]));
  *bound = work.bound;
  return DP_OK;
}

dp_status dp_session_prepare(dp_session *s, int program, int64_t n) {
  dp_bound *bound;
  for (int slot = 0; slot <= s->alternates; slot++) DP_TRY(prepare(s, program, n, slot, &bound));
  return DP_OK;
}

dp_status dp_session_add_code(dp_session *s, int program, int64_t n, const dp_code_maker *maker) {
  dp_bound *bound;
  DP_TRY(prepare(s, program, n, 0, &bound));
  for (int u = 0; u < bound->task_graph.n_units; u++) {
    const dp_unit *unit = &bound->units[u];
    if (unit->kernel) DP_TRY(maker->add_kernel(unit->kernel, unit->spec));
    if (unit->transfer) DP_TRY(maker->add_transfer(unit->transfer));
  }
  return DP_OK;
}

dp_status dp_session_calibrate(dp_session *s, int program, int64_t n, const dp_calibrator *calibrator) {
  dp_bound *bound;
  DP_TRY(prepare(s, program, n, 0, &bound));
  for (int u = 0; u < bound->task_graph.n_units; u++)
    if (bound->units[u].kernel) DP_TRY(calibrator->measure(bound->units[u].kernel, bound->units[u].spec));
  return DP_OK;
}

dp_status dp_session_print_choices(dp_session *s, int program, int64_t n, const Dp__Instruction *instruction,
                                   FILE *out) {
  dp_bound *bound;
  DP_TRY(prepare(s, program, n, 0, &bound));
  return dp_bound_print_choices(bound, instruction, out);
}

void dp_session_describe(const dp_session *s, FILE *out) {
  if (s->memory.backend->describe) s->memory.backend->describe(out);
}

static void put_scalar(dp_session *s, int program, const char *name, int slot, const void *number) {
  void *at = dp_session_input(s, program, name, slot);
  if (at) memcpy(at, number, 8);
}

int dp_session_depth(const dp_session *s) { return s->memory.n_outputs; }

dp_status dp_session_begin(dp_session *s, int program, int slot, const dp_step *step) {
  dp_bound *bound;
  if (s->n_on == dp_session_depth(s) || (s->n_on && s->slot_on[0] == slot))
    return dp_fail(EX_SOFTWARE, "a run begins, and %s",
                   s->n_on == 2 ? "two are on" : "its inputs or outputs are in use");
  DP_TRY(prepare(s, program, step->n, slot, &bound));
  DP_TRY(dp_bound_pack(bound, s->variables));
  s->variables += s->programs[program].updates;
  put_scalar(s, program, DP_SCALAR_STEP, slot, &step->step);
  put_scalar(s, program, DP_SCALAR_N, slot, &step->n);
  put_scalar(s, program, DP_SCALAR_LR, slot, &step->lr);
  put_scalar(s, program, DP_SCALAR_SEED, slot, &s->seed);
  bound->slot = slot;
  bound->run = s->runs++;
  DP_TRY(s->executor.calls->start(s->executor.self, &bound->task_graph, bound->state, slot));
  s->slot_on[s->n_on++] = slot;
  return DP_OK;
}

const char *dp_session_remark(const dp_session *s) {
  return s->executor.calls->remark ? s->executor.calls->remark(s->executor.self) : NULL;
}

dp_status dp_session_taken(dp_session *s) { return s->n_on ? s->executor.calls->taken(s->executor.self) : DP_OK; }

dp_status dp_session_end(dp_session *s) {
  if (!s->n_on) return DP_OK;
  dp_status status = s->executor.calls->wait(s->executor.self);
  s->slot_ended = s->slot_on[0];
  s->slot_on[0] = s->slot_on[1];
  s->n_on = status ? 0 : s->n_on - 1;
  return status;
}

dp_status dp_session_run(dp_session *s, int program, int slot, const dp_step *step) {
  if (s->n_on) return dp_fail(EX_SOFTWARE, "a run is to be made alone, and another one is on");
  DP_TRY(dp_session_begin(s, program, slot, step));
  return dp_session_end(s);
}

// ---- host memory ----------------------------------------------------------------------------------------------------

// All roles that bind an input or output bind it to the same bytes, so the first one will do.
static const Dp__DeviceTensor *find_binding(const dp_session *s, int program, bool output, const char *name) {
  for (int r = 0; r < s->roles.n_roles; r++) {
    const Dp__Program *p = s->programs[program].by_role[r].program;
    size_t count = !p ? 0 : output ? p->n_outputs : p->n_inputs;
    for (size_t i = 0; i < count; i++) {
      const Dp__Binding *binding = output ? p->outputs[i] : p->inputs[i];
      if (!strcmp(binding->name, name)) return p->tensors[binding->tensor];
    }
  }
  return NULL;
}

void *dp_session_input(dp_session *s, int program, const char *name, int slot) {
  const Dp__DeviceTensor *t = find_binding(s, program, false, name);
  return t ? s->memory.host_input[slot] + t->offset : NULL;
}

const void *dp_session_output(dp_session *s, int program, const char *name, dp_type *type) {
  const Dp__DeviceTensor *t = find_binding(s, program, true, name);
  if (t && type) *type = *s->programs[program].graph->values[t->value]->type;
  return t ? s->memory.host_output[dp_session_depth(s) > 1 ? s->slot_ended : 0] + t->offset : NULL;
}

double dp_session_number(dp_session *s, int program, const char *name) {
  dp_type type;
  const void *at = dp_session_output(s, program, name, &type);
  const double number = at ? dp_element_get(type.dtype, at) : 0;
  return isnan(number) ? NAN : number;
}

// ---- variables ----------------------------------------------------------------------------------------------

static dp_status check_idle(const dp_session *s) {
  return s->n_on ? dp_fail(EX_SOFTWARE, "variables are moved while a run is on") : DP_OK;
}

dp_status dp_session_variable_read(dp_session *s, int32_t variable, void *whole) {
  DP_TRY(check_idle(s));
  return dp_memory_read(&s->memory, s->model, variable, whole);
}

dp_status dp_session_variable_write(dp_session *s, int32_t variable, const void *whole) {
  DP_TRY(check_idle(s));
  s->variables++;
  return dp_memory_write(&s->memory, s->model, variable, whole);
}

// ---- inspecting -----------------------------------------------------------------------------------------------------

const dp_model *dp_session_model(const dp_session *s) { return s->model; }

const dp_graph *dp_session_graph(const dp_session *s, int program) { return s->programs[program].graph; }

uint64_t dp_session_bytes(const dp_session *s, Dp__Space space) { return s->memory.allocated[space]; }

uint64_t dp_session_resident(const dp_session *s) { return dp_memory_resident(&s->memory); }

dp_status dp_session_trace_write(const dp_session *s, const char *path) {
  return s->binding.trace ? dp_trace_write(s->binding.trace, s->names, &s->roles, s->memory.backend, path)
                          : dp_fail(EX_SOFTWARE, "no trace was recorded");
}

dp_status dp_session_trace_share(const dp_session *s, dp_trace_shares *shares) {
  return s->binding.trace ? dp_trace_share(s->binding.trace->slices, dp_trace_count(s->binding.trace), shares)
                          : dp_fail(EX_SOFTWARE, "no trace was recorded");
}
