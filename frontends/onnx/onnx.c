// Reads an ONNX file: the message, its opset, initializers, inputs, nodes in order, outputs. See onnx.h.
#include "frontends/onnx/onnx.h"

#include <string.h>

#include "frontends/onnx/onnx_reader.h"
#include "ir/base/file.h"
#include "ir/base/kind.h"
#include "ir/base/limits.h"
#include "ir/file/wire.h"

bool dp_onnx_is_path(const char *path) {
  size_t length = strlen(path);
  return length > 5 && !strcmp(path + length - 5, ".onnx");
}

const char *dp_onnx_name(dp_onnx_reader *reader, const dp_onnx_scope *scope, const Dp__Onnx__Node *node) {
  const char *name = node->name;
  for (size_t i = 0; i < node->n_output && !*name; i++) name = node->output[i];
  return dp_printf(reader->arena, "%s%s", scope->prefix, *name ? name : node->op_type);
}

dp_status dp_onnx_opset(size_t count, Dp__Onnx__OperatorSetId *const *ids, int64_t *opset) {
  *opset = 0;
  for (size_t i = 0; i < count; i++) {
    if (*ids[i]->domain && strcmp(ids[i]->domain, "ai.onnx")) continue;
    if (*opset) return dp_fail(EX_DATAERR, "the file imports two versions of ONNX's operators");
    *opset = ids[i]->version;
    if (*opset < DP_ONNX_MIN_OPSET || *opset > DP_ONNX_MAX_OPSET)
      return dp_fail(EX_UNAVAILABLE, "opset %lld is not supported; %d to %d are", (long long)*opset, DP_ONNX_MIN_OPSET,
                     DP_ONNX_MAX_OPSET);
  }
  return DP_OK;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

dp_status dp_onnx_count_work(dp_onnx_reader *reader, size_t work) {
  reader->work += (int64_t)work;
  if (reader->work > reader->max_work || reader->graph->n_nodes > DP_LIMIT_NODES)
    return dp_fail(EX_DATAERR, "the graph, with its functions and the rounds of its loops, is too large");
  return DP_OK;
}

static dp_status count_node(dp_onnx_reader *reader, const Dp__Onnx__Node *node) {
  return dp_onnx_count_work(reader, 1 + node->n_input + node->n_output + node->n_attribute);
}

static dp_status make_node(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *node) {
  bool folded = false;
  DP_TRY(count_node(reader, node));
  const Dp__Onnx__Function *function = dp_onnx_function_find(reader, node);
  if (function) return dp_onnx_function_inline(reader, scope, node, function);
  DP_TRY(dp_onnx_fold(reader, scope, node, &folded));
  return folded ? DP_OK : dp_onnx_node_add(reader, scope, node);
}

static dp_status read_node(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *node) {
  int32_t first = reader->graph->n_nodes;
  DP_TRY(make_node(reader, scope, node));
  dp_onnx_devices_mark(reader, node, first);
  return dp_onnx_metadata_constraint(reader, node, first);
}

dp_status dp_onnx_walk(dp_onnx_reader *reader, dp_onnx_scope *scope, size_t count, Dp__Onnx__Node *const *nodes) {
  for (size_t i = 0; i < count; i++) {
    dp_status status = read_node(reader, scope, nodes[i]);
    if (!status) continue;
    // dp_op_infer names the node itself.
    bool named = !strncmp(dp_status_message(status), "node '", 6);
    return named
               ? status
               : dp_status_context(status, "node '%s' (%s)", dp_onnx_name(reader, scope, nodes[i]), nodes[i]->op_type);
  }
  return DP_OK;
}

// ---- the graph ------------------------------------------------------------------------------------------------------

static dp_status read_initializers(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Graph *graph) {
  if (graph->n_sparse_initializer) return dp_fail(EX_UNAVAILABLE, "sparse initializers are not supported");
  for (size_t i = 0; i < graph->n_initializer; i++) {
    dp_onnx_binding binding = {.initializer = true};
    DP_TRY(dp_onnx_tensor_read(reader, graph->initializer[i], &binding.tensor));
    DP_TRY(dp_onnx_scope_bind(reader, scope, graph->initializer[i]->name, binding));
  }
  return DP_OK;
}

static dp_status read_outputs(dp_onnx_reader *reader, const dp_onnx_scope *scope, const Dp__Onnx__Graph *graph) {
  if (!graph->n_output || graph->n_output > DP_LIMIT_OUTPUTS)
    return dp_fail(EX_DATAERR, "the graph has %zu outputs; 1 to %d are expected", graph->n_output, DP_LIMIT_OUTPUTS);
  for (size_t i = 0; i < graph->n_output; i++) {
    const char *name = graph->output[i]->name;
    dp_onnx_binding *binding;
    dp_value *value;
    DP_TRY(dp_status_context(dp_onnx_scope_find(scope, name, &binding), "output '%s'", name));
    if (!binding) return dp_fail(EX_DATAERR, "an output has no name");
    DP_TRY(dp_onnx_scope_value(reader, binding, &value));
    dp_graph_add_output(reader->graph, name, value);
  }
  return DP_OK;
}

static dp_status read_graph(dp_onnx_reader *reader) {
  const Dp__Onnx__Graph *graph = reader->message->graph;
  int64_t opset;
  if (!graph) return dp_fail(EX_DATAERR, "not an ONNX model: the file has no graph");
  DP_TRY(dp_onnx_opset(reader->message->n_opset_import, reader->message->opset_import, &opset));
  if (!opset) return dp_fail(EX_DATAERR, "the version of ONNX's operators (opset_import) is missing");
  reader->model = dp_model_create(reader->arena, *graph->name ? graph->name : "model");
  reader->model->opset = dp_max_i64(reader->model->opset, opset);
  reader->graph = dp_graph_create(reader->model, "main");
  dp_onnx_scope *scope = dp_onnx_scope_create(reader, "", opset);
  DP_TRY(read_initializers(reader, scope, graph));
  DP_TRY(dp_onnx_input_add(reader, scope, graph));
  DP_TRY(dp_onnx_parameters_decide(reader, scope));
  DP_TRY(dp_onnx_walk(reader, scope, graph->n_node, graph->node));
  DP_TRY(read_outputs(reader, scope, graph));
  dp_model_add_graph(reader->model, reader->graph);
  DP_TRY(dp_onnx_metadata_read(reader));
  DP_TRY(dp_onnx_devices_read(reader));
  return dp_graph_verify(reader->graph);
}

static dp_status unpack(dp_arena *arena, const char *path, const void *data, size_t bytes,
                        const Dp__Onnx__Model **model) {
  ProtobufCMessage *message;
  const char *what = dp_printf(arena, "%s: no whole ONNX model", path);
  DP_TRY(dp_wire_unpack_known(arena, &dp__onnx__model__descriptor, data, bytes, what, &message));
  *model = (const Dp__Onnx__Model *)message;
  return DP_OK;
}

static dp_status import(dp_arena *arena, const char *path, const void *data, size_t bytes,
                        const dp_onnx_options *options, dp_model **model) {
  dp_onnx_reader reader = {.arena = arena,
                           .path = path,
                           .options = options,
                           .max_work = DP_ONNX_BASE_WORK + DP_ONNX_BYTE_WORK * (int64_t)bytes};
  DP_TRY(unpack(arena, path, data, bytes, &reader.message));
  DP_TRY(dp_status_context(read_graph(&reader), "%s", path));
  *model = reader.model;
  return DP_OK;
}

static const dp_onnx_options no_options;

dp_status dp_onnx_import_bytes(dp_arena *arena, const char *path, const void *data, size_t bytes, dp_model **model) {
  return import(arena, path, data, bytes, &no_options, model);
}

dp_status dp_onnx_import_with(dp_arena *arena, const char *path, const dp_onnx_options *options, dp_model **model) {
  uint8_t *data;
  size_t bytes;
  DP_TRY(dp_file_read(arena, path, 0, &data, &bytes));
  const dp_file_kind *kind = dp_file_kind_of(data, bytes);
  // ONNX files start in many ways, so refuse only those whose start belongs to another format.
  if (!bytes || (kind && data[0] != 8)) return dp_file_kind_refuse(path, data, bytes, "a model in ONNX");
  return import(arena, path, data, bytes, options, model);
}

dp_status dp_onnx_import(dp_arena *arena, const char *path, dp_model **model) {
  return dp_onnx_import_with(arena, path, &no_options, model);
}

dp_status dp_onnx_needs(dp_arena *arena, const char *path, const void *data, size_t bytes, size_t *n_inputs,
                        bool **needed) {
  dp_onnx_reader reader = {
      .arena = arena, .path = path, .max_work = DP_ONNX_BASE_WORK + DP_ONNX_BYTE_WORK * (int64_t)bytes};
  DP_TRY(unpack(arena, path, data, bytes, &reader.message));
  const Dp__Onnx__Graph *graph = reader.message->graph;
  if (!graph) return dp_fail(EX_DATAERR, "%s: not an ONNX model: the file has no graph", path);
  bool *flags = dp_alloc_n(arena, graph->n_input + 1, sizeof *flags);
  DP_TRY(dp_status_context(dp_onnx_needs_find(&reader, flags), "%s", path));
  *n_inputs = graph->n_input;
  *needed = flags;
  return DP_OK;
}
