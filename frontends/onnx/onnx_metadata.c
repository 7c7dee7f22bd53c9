// What our writer leaves in metadata because ONNX has no word for it, read again. Other programs' metadata is passed over.
#include <stdlib.h>
#include <string.h>

#include "frontends/onnx/onnx_reader.h"

static const char *find(size_t count, Dp__Onnx__StringStringEntry *const *entries, const char *key) {
  for (size_t i = 0; i < count; i++)
    if (!strcmp(entries[i]->key, key)) return entries[i]->value;
  return NULL;
}

static dp_status read_pin(dp_onnx_reader *reader, dp_persistent *p, const char *axis, const char *text) {
  dp_pin pin = {.axis = dp_strdup(reader->arena, axis)};
  if (!*axis || !dp_placement_parse(text, &pin.placement))
    return dp_fail(EX_DATAERR, "its metadata 'dp.shard.%s' is '%s'; a placement such as S(0) is expected", axis, text);
  DP_PUSH(reader->arena, p->pins, p->n_pins, pin);
  return DP_OK;
}

static dp_status read_tensor(dp_onnx_reader *reader, const Dp__Onnx__Tensor *m, dp_persistent *p) {
  static const char prefix[] = "dp.shard.";
  const char *kind = find(m->n_metadata_props, m->metadata_props, "dp.kind");
  if (kind && !strcmp(kind, "buffer")) p->kind = DP_BUFFER;
  p->frozen |= find(m->n_metadata_props, m->metadata_props, "dp.frozen") != NULL;
  for (size_t i = 0; i < m->n_metadata_props; i++)
    if (!strncmp(m->metadata_props[i]->key, prefix, sizeof prefix - 1))
      DP_TRY(read_pin(reader, p, m->metadata_props[i]->key + sizeof prefix - 1, m->metadata_props[i]->value));
  return DP_OK;
}

dp_status dp_onnx_metadata_read(dp_onnx_reader *reader) {
  const Dp__Onnx__Model *m = reader->message;
  reader->model->loss = find(m->n_metadata_props, m->metadata_props, "dp.loss");
  reader->model->optimizer = find(m->n_metadata_props, m->metadata_props, "dp.optimizer");
  for (size_t i = 0; i < m->graph->n_initializer; i++) {
    const Dp__Onnx__Tensor *t = m->graph->initializer[i];
    int32_t at = t->n_metadata_props ? dp_model_find_persistent(reader->model, t->name) : -1;
    if (at < 0) continue;
    DP_TRY(dp_status_context(read_tensor(reader, t, &reader->model->persistents[at]), "initializer '%s'", t->name));
  }
  return DP_OK;
}

dp_status dp_onnx_metadata_node(dp_onnx_node *node) {
  const Dp__Onnx__Node *m = node->message;
  for (int i = 0; i < DP_MAX_ATTRS && node->op->attrs[i].name; i++) {
    if (node->op->attrs[i].kind != DP_ATTR_INT) continue;
    const char *key = dp_printf(node->reader->arena, "dp.%s", node->op->attrs[i].name);
    const char *text = m->n_metadata_props ? find(m->n_metadata_props, m->metadata_props, key) : NULL;
    char *end;
    if (!text) continue;
    int64_t number = strtoll(text, &end, 10);
    if (end == text || *end) return dp_fail(EX_DATAERR, "its metadata '%s' is '%s'; a number is expected", key, text);
    dp_onnx_node_set(node, dp_attr_int(node->op->attrs[i].name, number));
  }
  return DP_OK;
}
