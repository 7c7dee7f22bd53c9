// Writes a model's graph as an ONNX file. What ONNX cannot express (the loss, the optimizer, which tensors are frozen)
// becomes metadata, from which the reader restores it. See onnx.h.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "frontends/onnx/onnx.h"
#include "frontends/onnx/onnx_writer.h"
#include "ir/base/file.h"
#include "ir/base/philox.h"
#include "ir/file/wire.h"

enum {
  OLDEST_OPSET = 18,
  IR_VERSION = 10,
  IR_VERSION_OF_DEVICES = 11,
  ALIGNMENT = 64,                // of tensors in the data file
  EXTERNAL_MIN_BYTES = 1 << 20,  // larger tensors may go to the data file
  WHOLE_MAX_BYTES = 1 << 30,     // larger models keep their tensors in it: a protobuf ends at 2 GiB
};

const char *dp_onnx_export_name(const dp_onnx_writer *w, const dp_value *value) {
  return value->kind == DP_VALUE_VARIABLE ? w->model->variables[value->variable].name : value->name;
}

Dp__Onnx__StringStringEntry *dp_onnx_export_entry(dp_arena *arena, const char *key, const char *value) {
  DP_ONNX_NEW(arena, Dp__Onnx__StringStringEntry, dp__onnx__string_string_entry__init, entry);
  entry->key = (char *)key;
  entry->value = (char *)value;
  return entry;
}

// ---- tensors --------------------------------------------------------------------------------------------------------

Dp__Onnx__Tensor *dp_onnx_export_tensor(dp_arena *arena, const char *name, const dp_tensor *tensor) {
  DP_ONNX_NEW(arena, Dp__Onnx__Tensor, dp__onnx__tensor__init, m);
  m->name = (char *)name;
  m->n_dims = (size_t)tensor->rank;
  m->dims = dp_memdup(arena, tensor->extents, sizeof(int64_t) * DP_MAX_RANK);
  m->has_data_type = m->has_raw_data = true;
  m->data_type = tensor->dtype;
  m->raw_data = (ProtobufCBinaryData){tensor->bytes, (uint8_t *)tensor->data};
  return m;
}

void dp_onnx_export_initializer(dp_onnx_writer *w, Dp__Onnx__Tensor *tensor) {
  Dp__Onnx__Graph *g = w->message;
  DP_PUSH(w->arena, g->initializer, g->n_initializer, tensor);
}

// Draws initial values by their rule, as `dprun --seed=0` would.
static dp_tensor *make_values(dp_arena *arena, const dp_variable *p) {
  dp_tensor *t = dp_alloc(arena, sizeof *t);
  t->dtype = p->type->dtype;
  t->rank = p->type->shape.rank;
  dp_shape_at(&p->type->shape, 0, t->extents);
  int64_t count = dp_tensor_count(t);
  size_t each = dp_type_bytes(t->dtype);
  char *data = dp_alloc_n(arena, (size_t)count + 1, each);
  for (int64_t i = 0; i < count; i++) {
    uint32_t block[4];
    double value = p->init.a;
    if (p->init.kind != DP_INIT_FILL) dp_philox_block(0, 0, dp_hash_name(p->name), (uint64_t)i / 4, block);
    if (p->init.kind == DP_INIT_UNIFORM)
      value = p->init.a + (p->init.b - p->init.a) * dp_philox_uniform(block[i % 4]);
    else if (p->init.kind == DP_INIT_NORMAL)
      value = p->init.a + p->init.b * dp_philox_normal(block, (int)(i % 4));
    dp_element_set(t->dtype, data + (size_t)i * each, value);
  }
  t->bytes = (size_t)count * each;
  t->data = data;
  return t;
}

static void add_metadata(dp_arena *arena, Dp__Onnx__Tensor *tensor, const char *key, const char *value) {
  Dp__Onnx__StringStringEntry *entry = dp_onnx_export_entry(arena, key, value);
  DP_PUSH(arena, tensor->metadata_props, tensor->n_metadata_props, entry);
}

static void write_variable(dp_onnx_writer *w, const dp_variable *p) {
  static const char *const kinds[] = {"parameter", "buffer", "state", "stored"};
  const dp_tensor *t = p->init.kind == DP_INIT_TENSOR ? p->init.tensor : make_values(w->arena, p);
  Dp__Onnx__Tensor *m = dp_onnx_export_tensor(w->arena, p->name, t);
  if (p->kind != DP_PARAMETER) add_metadata(w->arena, m, "dp.kind", kinds[p->kind]);
  if (p->frozen) add_metadata(w->arena, m, "dp.frozen", "1");
  for (int i = 0; i < p->n_constraints; i++) {
    char text[64];
    dp_placement_print(p->constraints[i].placement, text, sizeof text);
    add_metadata(w->arena, m, dp_printf(w->arena, "dp.shard.%s", p->constraints[i].axis), dp_strdup(w->arena, text));
  }
  dp_onnx_export_initializer(w, m);
}

// ---- inputs, outputs ------------------------------------------------------------------------------------------------

static Dp__Onnx__Dimension *dimension(dp_onnx_writer *w, dp_dim d) {
  DP_ONNX_NEW(w->arena, Dp__Onnx__Dimension, dp__onnx__dimension__init, m);
  const char *symbol = w->model->symbol;
  if (!dp_dim_is_symbolic(d)) {
    m->has_dim_value = true;
    m->dim_value = d.offset;
  } else if (dp_dim_equal(d, dp_dim_batch())) {
    m->dim_param = (char *)symbol;
  } else {
    m->dim_param =
        dp_printf(w->arena, d.offset ? "%lld*%s+%lld" : "%lld*%s", (long long)d.scale, symbol, (long long)d.offset);
  }
  return m;
}

static Dp__Onnx__ValueInfo *value_info(dp_onnx_writer *w, const char *name, const dp_type *type) {
  DP_ONNX_NEW(w->arena, Dp__Onnx__ValueInfo, dp__onnx__value_info__init, info);
  DP_ONNX_NEW(w->arena, Dp__Onnx__Type, dp__onnx__type__init, t);
  DP_ONNX_NEW(w->arena, Dp__Onnx__TensorType, dp__onnx__tensor_type__init, tensor);
  DP_ONNX_NEW(w->arena, Dp__Onnx__TensorShape, dp__onnx__tensor_shape__init, shape);
  info->name = (char *)name;
  info->type = t;
  t->tensor_type = tensor;
  tensor->has_elem_type = true;
  tensor->elem_type = type->dtype;
  tensor->shape = shape;
  for (int d = 0; d < type->shape.rank; d++) {
    Dp__Onnx__Dimension *m = dimension(w, type->shape.dims[d]);
    DP_PUSH(w->arena, shape->dim, shape->n_dim, m);
  }
  return info;
}

// An output whose name differs from its value's goes through an Identity.
static void write_output(dp_onnx_writer *w, const char *name, const dp_value *value) {
  Dp__Onnx__Graph *g = w->message;
  const char *inside = dp_onnx_export_name(w, value);
  if (strcmp(name, inside) || value->kind != DP_VALUE_RESULT) {
    DP_ONNX_NEW(w->arena, Dp__Onnx__Node, dp__onnx__node__init, node);
    node->op_type = (char *)"Identity";
    char *operand = (char *)inside;
    if (dp_names_find(w->names, name) >= 0) name = dp_names_unique(w->names, name);
    dp_names_add(w->names, name, 0);
    char *result = (char *)name;
    DP_PUSH(w->arena, node->input, node->n_input, operand);
    DP_PUSH(w->arena, node->output, node->n_output, result);
    DP_PUSH(w->arena, g->node, g->n_node, node);
  }
  Dp__Onnx__ValueInfo *info = value_info(w, name, value->type);
  DP_PUSH(w->arena, g->output, g->n_output, info);
}

static bool is_output(const dp_graph *graph, const dp_value *value) {
  for (int i = 0; i < graph->n_outputs; i++)
    if (graph->outputs[i].value == value && !strcmp(graph->outputs[i].name, value->name)) return true;
  return false;
}

static void write_values(dp_onnx_writer *w) {
  Dp__Onnx__Graph *g = w->message;
  for (int32_t i = 0; i < w->graph->n_values; i++) {
    const dp_value *v = w->graph->values[i];
    const char *name = dp_onnx_export_name(w, v);
    if (dp_names_find(w->names, name) < 0) dp_names_add(w->names, name, 0);
    if (v->kind == DP_VALUE_INPUT || v->kind == DP_VALUE_SCALAR) {
      Dp__Onnx__ValueInfo *info = value_info(w, name, v->type);
      DP_PUSH(w->arena, g->input, g->n_input, info);
    } else if (v->kind == DP_VALUE_RESULT && !is_output(w->graph, v)) {
      Dp__Onnx__ValueInfo *info = value_info(w, name, v->type);
      DP_PUSH(w->arena, g->value_info, g->n_value_info, info);
    } else if (v->kind == DP_VALUE_VARIABLE) {
      write_variable(w, &w->model->variables[v->variable]);
    } else if (v->kind == DP_VALUE_CONSTANT) {
      dp_onnx_export_constant(w, v);
    }
  }
}

// ---- the model ------------------------------------------------------------------------------------------------------

static dp_status write_graph(dp_onnx_writer *w) {
  write_values(w);
  for (int32_t i = 0; i < w->graph->n_nodes; i++) DP_TRY(dp_onnx_export_node(w, w->graph->nodes[i]));
  for (int i = 0; i < w->graph->n_outputs; i++) write_output(w, w->graph->outputs[i].name, w->graph->outputs[i].value);
  for (int i = 0; i < w->graph->n_updates; i++) {
    const dp_update *u = &w->graph->updates[i];
    write_output(w, dp_printf(w->arena, "dp.updated/%s", w->model->variables[u->variable].name), u->value);
  }
  return DP_OK;
}

static void add_opset(dp_onnx_writer *w, Dp__Onnx__Model *m, const char *domain, int64_t version) {
  DP_ONNX_NEW(w->arena, Dp__Onnx__OperatorSetId, dp__onnx__operator_set_id__init, id);
  id->domain = (char *)domain;
  id->has_version = true;
  id->version = version;
  DP_PUSH(w->arena, m->opset_import, m->n_opset_import, id);
}

static void add_property(dp_onnx_writer *w, Dp__Onnx__Model *m, const char *key, const char *value) {
  if (!value) return;
  Dp__Onnx__StringStringEntry *entry = dp_onnx_export_entry(w->arena, key, value);
  DP_PUSH(w->arena, m->metadata_props, m->n_metadata_props, entry);
}

static dp_status write_model(dp_onnx_writer *w, Dp__Onnx__Model *m) {
  DP_TRY(write_graph(w));
  m->has_ir_version = true;
  m->ir_version = IR_VERSION;
  m->producer_name = (char *)"dpc";
  m->graph = w->message;
  add_opset(w, m, "", w->opset);
  if (w->own) add_opset(w, m, "dp", 1);
  add_property(w, m, "dp.loss", w->model->loss);
  add_property(w, m, "dp.caveat", w->model->caveat);
  add_property(w, m, "dp.optimizer", w->model->optimizer);
  if (!w->mesh->n_axes) return DP_OK;
  m->ir_version = IR_VERSION_OF_DEVICES;
  Dp__Onnx__DeviceConfiguration *configuration = dp_onnx_devices_configuration(w->arena, w->mesh);
  DP_PUSH(w->arena, m->configuration, m->n_configuration, configuration);
  return DP_OK;
}

// ---- files ----------------------------------------------------------------------------------------------------------

static const char *decimal(dp_arena *arena, size_t number) { return dp_printf(arena, "%zu", number); }

static dp_status write_padding(dp_file_writer *file, size_t *offset) {
  static const char zeros[ALIGNMENT];
  size_t bytes = (ALIGNMENT - *offset % ALIGNMENT) % ALIGNMENT;
  *offset += bytes;
  return dp_file_writer_write(file, zeros, bytes);
}

static dp_status write_outside(dp_arena *arena, Dp__Onnx__Graph *graph, const char *location, dp_file_writer *file) {
  size_t offset = 0;
  for (size_t i = 0; i < graph->n_initializer; i++) {
    Dp__Onnx__Tensor *t = graph->initializer[i];
    if (t->raw_data.len <= EXTERNAL_MIN_BYTES) continue;
    DP_TRY(write_padding(file, &offset));
    DP_TRY(dp_file_writer_write(file, t->raw_data.data, t->raw_data.len));
    Dp__Onnx__StringStringEntry *entries[] = {
        dp_onnx_export_entry(arena, "location", location),
        dp_onnx_export_entry(arena, "offset", decimal(arena, offset)),
        dp_onnx_export_entry(arena, "length", decimal(arena, t->raw_data.len)),
    };
    // Both files cannot be replaced at once: the reader must know an older model's data from this one's.
    add_metadata(arena, t, "dp.xxh3", dp_printf(arena, "%016" PRIx64, dp_hash64(t->raw_data.data, t->raw_data.len)));
    t->n_external_data = DP_COUNT(entries);
    t->external_data = dp_memdup(arena, entries, sizeof entries);
    t->has_data_location = true;
    t->data_location = 1;
    t->has_raw_data = false;
    offset += t->raw_data.len;
  }
  return DP_OK;
}

// Writes the tensors to PATH.data before the model that refers to them.
static dp_status move_outside(dp_arena *arena, Dp__Onnx__Graph *graph, const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  dp_file_writer file;
  DP_TRY(dp_file_writer_open(dp_printf(arena, "%s.data", path), &file));
  dp_status status = write_outside(arena, graph, dp_printf(arena, "%s.data", base), &file);
  if (!status) return dp_file_writer_commit(&file);
  dp_file_writer_abandon(&file);
  return status;
}

static bool is_large(const Dp__Onnx__Graph *graph) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < graph->n_initializer; i++) bytes += graph->initializer[i]->raw_data.len;
  return bytes > WHOLE_MAX_BYTES;
}

dp_status dp_onnx_export(dp_arena *arena, const dp_model *model, const dp_graph *graph, const dp_mesh *mesh,
                         bool external_data, const char *path) {
  DP_ONNX_NEW(arena, Dp__Onnx__Model, dp__onnx__model__init, message);
  DP_ONNX_NEW(arena, Dp__Onnx__Graph, dp__onnx__graph__init, inside);
  inside->name = (char *)(model->name && *model->name ? model->name : "model");
  dp_onnx_writer writer = {.arena = arena,
                           .model = model,
                           .graph = graph,
                           .mesh = mesh,
                           .message = inside,
                           .names = dp_names_create(arena),
                           .opset = dp_max_i64(OLDEST_OPSET, model->opset)};
  uint8_t *data;
  size_t bytes;
  DP_TRY(write_model(&writer, message));
  if (external_data || (is_large(inside) && !dp_file_is_standard(path))) DP_TRY(move_outside(arena, inside, path));
  DP_TRY(dp_wire_pack(arena, &message->base, path, &data, &bytes));
  return dp_file_write(path, data, bytes);
}
