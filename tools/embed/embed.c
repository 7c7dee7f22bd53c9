// See embed.h. Combines the layers as dpc and dprun do, but keeps the plan in memory.
#include "tools/embed/embed.h"

#include <stdio.h>
#include <string.h>

#include "backends/registry.h"
#include "frontends/onnx/onnx.h"
#include "passes/pipeline.h"
#include "runtime/session.h"

_Static_assert((int)DP_EMBED_MAX_RANK == (int)DP_MAX_RANK, "a tensor of any rank fits");

static const char program_name[] = "infer";

struct dp_embed {
  dp_arena *arena;
  dp_session *session;
  int program;
  int64_t n;
  size_t n_inputs, n_outputs;
  dp_embed_tensor *inputs, *outputs;
};

// Converts a status to a code and a message.
static int finish(dp_status status, char *message, size_t room) {
  int code = dp_status_code(status);
  if (room) snprintf(message, room, "%s", dp_status_message(status));
  dp_status_free(status);
  return code;
}

// ---- inputs that must be constants ----------------------------------------------------------------------------------

typedef struct {
  dp_arena *arena;
  const void *model;
  size_t bytes, n_inputs;
  const char *path;
  bool *needed;
} needs_call;

static dp_status find_needs(void *arg) {
  needs_call *c = arg;
  size_t count;
  bool *needed;
  DP_TRY(dp_onnx_needs(c->arena, c->path, c->model, c->bytes, &count, &needed));
  if (count != c->n_inputs)
    return dp_fail(EX_USAGE, "the model has %zu inputs, but the caller has room for %zu", count, c->n_inputs);
  memcpy(c->needed, needed, count * sizeof *needed);
  return DP_OK;
}

int dp_embed_needs(const void *model, size_t bytes, const char *path, size_t n_inputs, bool *needed, char *message,
                   size_t room) {
  needs_call call = {dp_arena_create(0), model, bytes, n_inputs, path, needed};
  if (!call.arena) return finish(dp_fail(DP_EX_MEMORY, "out of memory"), message, room);
  int code = finish(dp_arena_run(call.arena, find_needs, &call), message, room);
  dp_arena_destroy(call.arena);
  return code;
}

// ---- devices --------------------------------------------------------------------------------------------------------

static dp_status open_device(const char *device, const dp_backend_entry **entry, const dp_backend **backend) {
  *entry = dp_backend_default();
  if (!device) return (*entry)->open(NULL, backend);
  const size_t length = strcspn(device, ":");
  char name[32];
  snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : 0, device);
  *entry = dp_backend_find(name);
  if (!*entry) return dp_fail(EX_USAGE, "device '%s': there is no such backend", device);
  return (*entry)->open(device[length] ? device + length + 1 : NULL, backend);
}

int dp_embed_open(const char *device, char *message, size_t room) {
  const dp_backend_entry *entry;
  const dp_backend *backend;
  return finish(open_device(device, &entry, &backend), message, room);
}

// ---- compiling ------------------------------------------------------------------------------------------------------

typedef struct {
  dp_embed *embed;
  const void *model;
  size_t bytes;
  const char *path, *device;
  int threads;
} compile_call;

static dp_embed_tensor describe(const char *name, const dp_type *type, int64_t n, void *data) {
  dp_embed_tensor tensor = {.name = name, .dtype = (int32_t)type->dtype, .rank = type->shape.rank, .data = data};
  dp_shape_at(&type->shape, n, tensor.extents);
  tensor.bytes = (uint64_t)dp_shape_count(&type->shape, n) * dp_type_bytes(type->dtype);
  return tensor;
}

// Collects the outputs' names first, because the passes rename and reorder outputs.
static const char **list_outputs(dp_arena *arena, const dp_graph *source) {
  const char **names = dp_alloc_n(arena, (size_t)source->n_outputs, sizeof *names);
  for (int i = 0; i < source->n_outputs; i++) names[i] = source->outputs[i].name;
  return names;
}

static void list_tensors(dp_embed *e, int n_outputs, const char *const *outputs) {
  const dp_graph *graph = dp_session_graph(e->session, e->program);
  e->inputs = dp_alloc_n(e->arena, (size_t)graph->n_values + 1, sizeof *e->inputs);
  for (int32_t i = 0; i < graph->n_values; i++) {
    const dp_value *value = graph->values[i];
    if (value->kind != DP_VALUE_INPUT) continue;
    void *data = dp_session_input(e->session, e->program, value->name, 0);
    e->inputs[e->n_inputs++] = describe(value->name, value->type, e->n, data);
  }
  e->outputs = dp_alloc_n(e->arena, (size_t)n_outputs + 1, sizeof *e->outputs);
  for (int i = 0; i < n_outputs; i++) {
    dp_type type = {0};
    void *data = (void *)dp_session_output(e->session, e->program, outputs[i], &type);
    e->outputs[e->n_outputs++] = describe(outputs[i], &type, e->n, data);
  }
}

// The node uses the statistics of the current batch and keeps none, so it is the same in every program.
static bool is_as_written(const dp_model *model, const dp_node *node) {
  if (!node->op->specialize_local) return false;
  for (int i = 0; i < node->n_inputs; i++) {
    const dp_value *x = node->inputs[i];
    if (x && x->kind == DP_VALUE_VARIABLE && model->variables[x->variable].kind == DP_BUFFER) return false;
  }
  return true;
}

// Refuses operators in training mode, which an inference program would run differently.
static dp_status refuse_training(const dp_model *model, const dp_graph *source) {
  for (int32_t i = 0; i < source->n_nodes; i++) {
    const dp_node *node = source->nodes[i];
    if (node->op->specialize && dp_node_int(node, "training_mode", 0) && !is_as_written(model, node))
      return dp_fail(EX_UNAVAILABLE, "node '%s' (%s) has training_mode=1, which is not supported without training",
                     node->name, node->op->name);
  }
  return DP_OK;
}

static dp_status compile(void *arg) {
  compile_call *c = arg;
  dp_embed *e = c->embed;
  dp_model *model;
  Dp__Plan *plan;
  DP_TRY(dp_onnx_import_bytes(e->arena, c->path, c->model, c->bytes, &model));
  const dp_graph *source = dp_model_find_graph(model, "main");
  const int n_outputs = source->n_outputs;
  const char **outputs = list_outputs(e->arena, source);
  DP_TRY(refuse_training(model, source));
  const dp_backend_entry *entry;
  const dp_backend *backend;
  DP_TRY(open_device(c->device, &entry, &backend));
  dp_options options = {.mode = "infer", .threads = c->threads, .target = entry->target, .frees_graphs = true};
  DP_TRY(dp_pipeline_run(model, &options, &plan));
  dp_session_options session = {.workers = c->threads};
  DP_TRY(dp_session_create(plan, backend, &session, &e->session));
  e->program = dp_session_find(e->session, program_name);
  e->n = plan->batch;
  DP_TRY(dp_session_prepare(e->session, e->program, e->n));
  list_tensors(e, n_outputs, outputs);
  return DP_OK;
}

int dp_embed_compile(const void *model, size_t bytes, const char *path, const char *device, int threads,
                     dp_embed **embed, char *message, size_t room) {
  dp_arena *arena = dp_arena_create(0);
  if (!arena) return finish(dp_fail(DP_EX_MEMORY, "out of memory"), message, room);
  dp_embed *e = dp_alloc(arena, sizeof *e);
  e->arena = arena;
  compile_call call = {e, model, bytes, path, device, threads};
  int code = finish(dp_arena_run(arena, compile, &call), message, room);
  if (code)
    dp_embed_destroy(e);
  else
    *embed = e;
  return code;
}

void dp_embed_destroy(dp_embed *embed) {
  if (!embed) return;
  dp_session_destroy(embed->session);
  dp_arena_destroy(embed->arena);
}

// ---- running --------------------------------------------------------------------------------------------------------

bool dp_embed_input(const dp_embed *embed, size_t i, dp_embed_tensor *tensor) {
  if (i >= embed->n_inputs) return false;
  *tensor = embed->inputs[i];
  return true;
}

bool dp_embed_output(const dp_embed *embed, size_t i, dp_embed_tensor *tensor) {
  if (i >= embed->n_outputs) return false;
  *tensor = embed->outputs[i];
  return true;
}

int dp_embed_run(dp_embed *embed, char *message, size_t room) {
  dp_step step = {.n = embed->n};
  return finish(dp_session_run(embed->session, embed->program, 0, &step), message, room);
}
