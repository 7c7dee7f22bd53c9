// Checks whether a file of PyTorch's exporter has every parameter of the network, after onnx_undo.c did what it can.
#include <string.h>

#include "frontends/onnx/onnx_undo.h"

static bool is_known(const dp_onnx_undoing *u, const char *name) {
  return dp_names_find(u->signature->defined, name) >= 0 || dp_names_find(u->signature->by_fx, name) >= 0;
}

// Whether the file has every operation whose results another one, or the caller, takes. If so, a parameter that none of
// them takes is unused, or used under another name that it is tied to.
static bool is_whole(const dp_onnx_undoing *u) {
  for (int i = 0; i < u->n_operations; i++) {
    const char *at = NULL, *name;
    if (!u->operations[i].fx) return false;
    while ((name = dp_onnx_signature_next(u->reader->arena, u->operations[i].fx, &at)))
      if (!is_known(u, name)) return false;
  }
  for (const char *at = u->signature->outputs; (at = strstr(at, ": USER_OUTPUT")); at++) {
    const char *from = at;
    while (from > u->signature->outputs && from[-1] != '\n') from--;
    if (!is_known(u, dp_strndup(u->reader->arena, from, (size_t)(at - from)))) return false;
  }
  return true;
}

// The innermost module of the node, "blocks.0.norm"; NULL: none.
static const char *module_of(const dp_onnx_undoing *u, const Dp__Onnx__Node *node) {
  const char *list = dp_onnx_signature_find(node->n_metadata_props, node->metadata_props, "pkg.torch.onnx.name_scopes");
  const char *name, *module = NULL, *last = NULL;
  while (list && (name = dp_onnx_signature_item(u->reader->arena, &list))) {
    module = last;
    last = name;
  }
  return module;
}

// Detects tied parameters: while a module's nodes take another module's parameter with the same last name, both names
// mean the same parameter.
static dp_names *find_tied(const dp_onnx_undoing *u) {
  const Dp__Onnx__Graph *graph = u->reader->message->graph;
  dp_names *tied = dp_names_create(u->reader->arena);
  for (size_t i = 0; i < graph->n_node; i++) {
    const char *fx = dp_onnx_signature_of_node(graph->node[i]), *module = module_of(u, graph->node[i]), *at = NULL,
               *name;
    while (fx && module && (name = dp_onnx_signature_next(u->reader->arena, fx, &at))) {
      const dp_onnx_entry *other = dp_onnx_signature_entry(u->signature, u->signature->by_fx, name);
      const char *leaf = other && other->binding ? strrchr(other->target, '.') : NULL;
      const char *own = leaf ? dp_printf(u->reader->arena, "%s%s", module, leaf) : NULL;
      if (own && strcmp(own, other->target) && dp_names_find(tied, own) < 0) dp_names_add(tied, own, 0);
    }
  }
  return tied;
}

static void check_entries(const dp_onnx_undoing *u, dp_onnx_reasons *reasons) {
  const bool whole = is_whole(u);
  const dp_names *tied = find_tied(u);
  dp_arena *arena = u->reader->arena;
  dp_onnx_list changed = {0}, folded = {0}, absent = {0};
  for (int i = 0; i < u->signature->count; i++) {
    const dp_onnx_entry *e = &u->signature->entries[i];
    if (!e->parameter) continue;
    if (!e->binding && dp_names_find(u->scope->names, e->target) >= 0)
      dp_onnx_list_add(arena, &changed, e->target);
    else if (e->lost)
      dp_onnx_list_add(arena, &folded, e->target);
    else if (!e->binding && (e->mentioned || (!whole && dp_names_find(tied, e->target) < 0)))
      dp_onnx_list_add(arena, &absent, e->target);
  }
  if (changed.count)
    dp_onnx_reasons_add(reasons, "parameters into which something was folded: %s", dp_onnx_list_print(arena, &changed));
  if (folded.count)
    dp_onnx_reasons_add(reasons, "parameters that were folded into something: %s", dp_onnx_list_print(arena, &folded));
  if (absent.count)
    dp_onnx_reasons_add(reasons, "parameters that are not in it: %s", dp_onnx_list_print(arena, &absent));
}

// "layer_norm_12" is the thirteenth layer_norm.
static size_t base_length(const char *fx) {
  size_t length = strlen(fx), end = length;
  while (end && fx[end - 1] >= '0' && fx[end - 1] <= '9') end--;
  return end < length && end > 1 && fx[end - 1] == '_' ? end - 1 : length;
}

static const char *base_of(const dp_onnx_undoing *u, const char *fx) {
  return dp_strndup(u->reader->arena, fx, base_length(fx));
}

// How often the operation refers to results of that kind of operation, if the file has them.
static int count_named(const dp_onnx_undoing *u, const dp_onnx_operation *o, const char *base) {
  const char *at = NULL, *name;
  int n = 0;
  while ((name = dp_onnx_signature_next(u->reader->arena, o->fx, &at)))
    n += is_known(u, name) && !strcmp(base_of(u, name), base);
  return n;
}

// Whether the operation refers to something missing while its nodes take more results of that kind than it refers to:
// two operations that were equal, as long as their parameters were, became one.
static bool took_another(const dp_onnx_undoing *u, const dp_onnx_operation *o, const dp_names *producers,
                         const char *const *fx_names) {
  const char *at = NULL, *name, *base = NULL;
  while (!base && (name = dp_onnx_signature_next(u->reader->arena, o->fx, &at)))
    if (!is_known(u, name)) base = base_of(u, name);
  int taken = 0;
  for (int i = 0; base && i < o->n_nodes; i++) {
    for (size_t k = 0; k < o->nodes[i]->n_input; k++) {
      int32_t p = dp_names_find(producers, o->nodes[i]->input[k]);
      taken += p >= 0 && fx_names[p] && !strcmp(base_of(u, fx_names[p]), base);
    }
  }
  return taken && taken > count_named(u, o, base);
}

static void check_merged(const dp_onnx_undoing *u, dp_onnx_reasons *reasons) {
  const Dp__Onnx__Graph *graph = u->reader->message->graph;
  dp_names *producers = dp_names_create(u->reader->arena);
  const char **fx_names = dp_alloc_n(u->reader->arena, graph->n_node + 1, sizeof *fx_names);
  for (size_t i = 0; i < graph->n_node; i++) {
    const char *fx = dp_onnx_signature_of_node(graph->node[i]);
    if (!fx || *fx != '%') continue;
    fx_names[i] = dp_strndup(u->reader->arena, fx + 1, strcspn(fx + 1, " :"));
    for (size_t k = 0; k < graph->node[i]->n_output; k++)
      if (dp_names_find(producers, graph->node[i]->output[k]) < 0)
        dp_names_add(producers, graph->node[i]->output[k], (int32_t)i);
  }
  for (int i = 0; i < u->n_operations && u->merged; i++) {
    if (!u->operations[i].fx || !took_another(u, &u->operations[i], producers, fx_names)) continue;
    dp_onnx_reasons_add(reasons, "operations of parameters that are equal now were made one");
    return;
  }
}

void dp_onnx_whole(const dp_onnx_undoing *u, dp_onnx_reasons *reasons) {
  check_entries(u, reasons);
  check_merged(u, reasons);
}
