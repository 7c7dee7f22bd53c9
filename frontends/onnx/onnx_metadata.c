// Restores from metadata what our writer could not express in ONNX. Ignores other programs' metadata.
#include <stdlib.h>
#include <string.h>

#include "frontends/onnx/onnx_reader.h"

static const char *find_entry(size_t count, Dp__Onnx__StringStringEntry *const *entries, const char *key) {
  for (size_t i = 0; i < count; i++)
    if (!strcmp(entries[i]->key, key)) return entries[i]->value;
  return NULL;
}

static const char constraint_prefix[] = "dp.shard.";

static dp_status read_constraint(dp_arena *arena, const dp_shape *shape, const char *axis, const char *text, int *count,
                                 dp_constraint **constraints) {
  dp_constraint constraint = {.axis = dp_strdup(arena, axis)};
  if (!*axis || !dp_placement_parse(text, &constraint.placement))
    return dp_fail(EX_DATAERR, "its metadata 'dp.shard.%s' is '%s'; a placement such as S(0) is expected", axis, text);
  for (int i = 0; i < *count; i++)
    if (!strcmp((*constraints)[i].axis, axis)) return dp_fail(EX_DATAERR, "it has metadata 'dp.shard.%s' twice", axis);
  if (*count == DP_MAX_MESH) return dp_fail(EX_DATAERR, "it has metadata 'dp.shard' for more axes than meshes have");
  dp_mesh one = {1, {{axis, 2}}};
  DP_TRY(dp_placement_check(shape, &constraint.placement, &one));
  DP_PUSH(arena, *constraints, *count, constraint);
  return DP_OK;
}

static dp_status read_constraints(dp_arena *arena, size_t n, Dp__Onnx__StringStringEntry *const *entries,
                                  const dp_shape *shape, int *count, dp_constraint **constraints) {
  for (size_t i = 0; i < n; i++)
    if (!strncmp(entries[i]->key, constraint_prefix, sizeof constraint_prefix - 1))
      DP_TRY(read_constraint(arena, shape, entries[i]->key + sizeof constraint_prefix - 1, entries[i]->value, count,
                             constraints));
  return DP_OK;
}

static dp_status read_tensor(dp_onnx_reader *reader, const Dp__Onnx__Tensor *m, dp_variable *p) {
  const char *kind = find_entry(m->n_metadata_props, m->metadata_props, "dp.kind");
  if (kind && !strcmp(kind, "buffer")) p->kind = DP_BUFFER;
  p->frozen |= find_entry(m->n_metadata_props, m->metadata_props, "dp.frozen") != NULL;
  return read_constraints(reader->arena, m->n_metadata_props, m->metadata_props, &p->type->shape, &p->n_constraints,
                          &p->constraints);
}

dp_status dp_onnx_metadata_read(dp_onnx_reader *reader) {
  const Dp__Onnx__Model *m = reader->message;
  reader->model->loss = find_entry(m->n_metadata_props, m->metadata_props, "dp.loss");
  reader->model->optimizer = find_entry(m->n_metadata_props, m->metadata_props, "dp.optimizer");
  const char *caveat = find_entry(m->n_metadata_props, m->metadata_props, "dp.caveat");
  if (caveat) reader->model->caveat = caveat;
  for (size_t i = 0; i < m->graph->n_initializer; i++) {
    const Dp__Onnx__Tensor *t = m->graph->initializer[i];
    int32_t at = t->n_metadata_props ? dp_model_find_variable(reader->model, t->name) : -1;
    if (at < 0) continue;
    DP_TRY(dp_status_context(read_tensor(reader, t, &reader->model->variables[at]), "initializer '%s'", t->name));
  }
  return DP_OK;
}

dp_status dp_onnx_metadata_node(dp_onnx_node *node) {
  const Dp__Onnx__Node *m = node->message;
  for (int i = 0; i < DP_MAX_ATTRS && node->op->attrs[i].name; i++) {
    if (node->op->attrs[i].kind != DP_ATTR_INT) continue;
    const char *key = dp_printf(node->reader->arena, "dp.%s", node->op->attrs[i].name);
    const char *text = m->n_metadata_props ? find_entry(m->n_metadata_props, m->metadata_props, key) : NULL;
    char *end;
    if (!text) continue;
    int64_t number = strtoll(text, &end, 10);
    if (end == text || *end) return dp_fail(EX_DATAERR, "its metadata '%s' is '%s'; a number is expected", key, text);
    dp_onnx_node_set(node, dp_attr_int(node->op->attrs[i].name, number));
  }
  return DP_OK;
}

dp_status dp_onnx_metadata_constraint(const dp_onnx_reader *reader, const Dp__Onnx__Node *m, int32_t first) {
  if (!m->n_metadata_props || !m->n_output) return DP_OK;
  for (int32_t i = first; i < reader->graph->n_nodes; i++) {
    dp_node *node = reader->graph->nodes[i];
    const dp_value *y = node->n_outputs ? node->outputs[0] : NULL;
    if (!y || strcmp(y->name, m->output[0])) continue;
    return dp_status_context(read_constraints(reader->arena, m->n_metadata_props, m->metadata_props, &y->type->shape,
                                              &node->n_constraints, &node->constraints),
                             "node '%s'", node->name);
  }
  return DP_OK;
}
