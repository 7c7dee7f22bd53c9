// See onnx_signature.h.
#include "frontends/onnx/onnx_signature.h"

#include <string.h>

#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

static const char kind_key[] = "InputSpec.kind";

const char *dp_onnx_signature_find(size_t count, Dp__Onnx__StringStringEntry *const *entries, const char *key) {
  const size_t length = strlen(key);
  for (size_t i = 0; i < count; i++) {
    size_t all = strlen(entries[i]->key);
    if (all >= length && !strcmp(entries[i]->key + all - length, key)) return entries[i]->value;
  }
  return NULL;
}

const char *dp_onnx_signature_of_node(const Dp__Onnx__Node *node) {
  return dp_onnx_signature_find(node->n_metadata_props, node->metadata_props, "pkg.torch.onnx.fx_node");
}

const char *dp_onnx_signature_of_value(const dp_onnx_reader *reader, const dp_onnx_signature *signature,
                                       const char *name, const char *key) {
  int32_t i = dp_names_find(signature->infos, name);
  if (i < 0) return NULL;
  const Dp__Onnx__ValueInfo *info = reader->message->graph->value_info[i];
  return dp_onnx_signature_find(info->n_metadata_props, info->metadata_props, key);
}

// "%linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, %p_w), kwargs = {})"
const char *dp_onnx_signature_op(dp_arena *arena, const char *fx_node) {
  static const char target[] = "[target=torch.ops.aten.";
  const char *at = strstr(fx_node, target);
  if (!at) return "";
  at += sizeof target - 1;
  return dp_strndup(arena, at, strspn(at, WORD));
}

const char *dp_onnx_signature_argument(dp_arena *arena, const char *fx, int at) {
  static const char before[] = "(args = (";
  const char *text = strstr(fx, before);
  if (!text) return "";
  for (text += sizeof before - 1; at; at--) {
    text += strcspn(text, ",()");
    if (*text != ',') return "";
    text += strspn(text, ", ");
  }
  return dp_strndup(arena, text, strcspn(text, ",()"));
}

const char *dp_onnx_signature_next(dp_arena *arena, const char *fx_node, const char **at) {
  if (!*at) {
    const char *equals = strstr(fx_node, " = ");
    *at = equals ? equals : fx_node + strlen(fx_node);
  }
  while ((*at = strchr(*at, '%'))) {
    size_t length = strspn(++*at, WORD);
    if (!length) continue;
    const char *name = dp_strndup(arena, *at, length);
    *at += length;
    return name;
  }
  return NULL;
}

const char *dp_onnx_signature_item(dp_arena *arena, const char **at) {
  const char *open = *at + strcspn(*at, "'\"");
  const char *close = *open ? strchr(open + 1, *open) : NULL;
  if (!close) return NULL;
  *at = close + 1;
  return dp_strndup(arena, open + 1, (size_t)(close - open - 1));
}

dp_onnx_entry *dp_onnx_signature_entry(const dp_onnx_signature *signature, const dp_names *names, const char *name) {
  int32_t i = dp_names_find(names, name);
  return i < 0 ? NULL : &signature->entries[i];
}

// ---- reading --------------------------------------------------------------------------------------------------------

static void define(dp_onnx_signature *s, const char *name) {
  if (*name && dp_names_find(s->defined, name) < 0) dp_names_add(s->defined, name, 0);
}

static void add_entry(dp_arena *arena, dp_onnx_signature *s, const char *fx, const char *target, bool parameter,
                      bool variable) {
  if (dp_names_find(s->by_target, target) >= 0) return;
  dp_onnx_entry entry = {.fx = fx, .target = target, .parameter = parameter, .variable = variable};
  dp_names_add(s->by_target, target, s->count);
  if (fx && dp_names_find(s->by_fx, fx) < 0) dp_names_add(s->by_fx, fx, s->count);
  DP_PUSH(arena, s->entries, s->count, entry);
}

// "p_fc_weight: PARAMETER target='fc.weight'", "b_mask: BUFFER target='mask' persistent=True", "x: USER_INPUT"
static void read_line(dp_arena *arena, dp_onnx_signature *s, const char *line) {
  static const char arrow[] = " target=";
  size_t name = strspn(line, WORD);
  if (!name || strncmp(line + name, ": ", 2)) return;
  const char *kind = line + name + 2, *fx = dp_strndup(arena, line, name), *at = strstr(line, arrow);
  const bool parameter = !strncmp(kind, "PARAMETER", 9), buffer = !strncmp(kind, "BUFFER", 6);
  const char *target = at ? dp_onnx_signature_item(arena, &at) : NULL;
  if (target && (parameter || buffer))
    add_entry(arena, s, fx, target, parameter, parameter || !strstr(at, "persistent=False"));
  else
    define(s, fx);
}

static void read_signature(dp_arena *arena, dp_onnx_signature *s, const char *text) {
  static const char outputs[] = "# outputs";
  const char *end = strstr(text, outputs);
  s->outputs = end ? end : "";
  for (const char *line = text; *line && line != end;) {
    size_t length = strcspn(line, "\n");
    read_line(arena, s, dp_strndup(arena, line, length));
    line += length + (line[length] == '\n');
  }
}

// Without a signature: initializers that still equal the module's.
static void read_kinds(dp_onnx_reader *reader, dp_onnx_signature *s) {
  const Dp__Onnx__Graph *graph = reader->message->graph;
  for (size_t i = 0; i < graph->n_value_info; i++) {
    const Dp__Onnx__ValueInfo *v = graph->value_info[i];
    const char *kind = dp_onnx_signature_find(v->n_metadata_props, v->metadata_props, kind_key);
    const bool parameter = kind && !strcmp(kind, "PARAMETER");
    if (!parameter && (!kind || strcmp(kind, "BUFFER"))) continue;
    const char *variable = dp_onnx_signature_find(v->n_metadata_props, v->metadata_props, "InputSpec.persistent");
    const char *fx = dp_onnx_signature_find(v->n_metadata_props, v->metadata_props, "original_node_name");
    add_entry(reader->arena, s, fx, v->name, parameter, !variable || strcmp(variable, "False"));
  }
}

// The names to which the file's nodes give values (ONNX's names are those of the traced program if possible), and the
// names of the nodes' operations.
static void read_nodes(dp_onnx_reader *reader, dp_onnx_signature *s) {
  const Dp__Onnx__Graph *graph = reader->message->graph;
  for (size_t i = 0; i < graph->n_input; i++) define(s, graph->input[i]->name);
  for (size_t i = 0; i < graph->n_node; i++) {
    const Dp__Onnx__Node *node = graph->node[i];
    for (size_t k = 0; k < node->n_output; k++) define(s, node->output[k]);
    const char *fx = dp_onnx_signature_of_node(node), *at = NULL, *name;
    if (!fx) continue;
    if (*fx == '%') define(s, dp_strndup(reader->arena, fx + 1, strspn(fx + 1, WORD)));
    while ((name = dp_onnx_signature_next(reader->arena, fx, &at))) {
      dp_onnx_entry *entry = dp_onnx_signature_entry(s, s->by_fx, name);
      if (entry) entry->mentioned = true;
    }
  }
}

dp_onnx_signature *dp_onnx_signature_read(dp_onnx_reader *reader, const dp_onnx_scope *scope) {
  dp_arena *arena = reader->arena;
  const Dp__Onnx__Graph *graph = reader->message->graph;
  dp_onnx_signature *s = dp_alloc(arena, sizeof *s);
  *s = (dp_onnx_signature){.by_fx = dp_names_create(arena),
                           .by_target = dp_names_create(arena),
                           .defined = dp_names_create(arena),
                           .infos = dp_names_create(arena),
                           .outputs = ""};
  for (size_t i = 0; i < graph->n_value_info; i++)
    if (dp_names_find(s->infos, graph->value_info[i]->name) < 0)
      dp_names_add(s->infos, graph->value_info[i]->name, (int32_t)i);
  const char *text = dp_onnx_signature_find(graph->n_metadata_props, graph->metadata_props, "graph_signature");
  if (text) read_signature(arena, s, text);
  read_kinds(reader, s);
  if (!s->count) return NULL;
  read_nodes(reader, s);
  for (int i = 0; i < s->count; i++) {
    dp_onnx_entry *entry = &s->entries[i];
    const char *kind = dp_onnx_signature_of_value(reader, s, entry->target, kind_key);
    int32_t at = kind ? dp_names_find(scope->names, entry->target) : -1;
    if (at >= 0 && scope->bindings[at]->initializer) entry->binding = scope->bindings[at];
  }
  return s;
}
