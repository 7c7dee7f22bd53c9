// Undoes what the optimizer of PyTorch's exporter did to parameters, using what the file says about each operation.
//
// The optimizer merges equal initializers, such as the ones and zeros of fresh norms, computes what depends on
// initializers alone (transposed weights), and drops additions of zero. Each node names its operation and the
// parameters that this takes. The nodes of one operation are examined together: their operands that are initializers
// are matched with the parameters, and an operand that stands for another parameter becomes that one again, with the
// same initial value. If the match is uncertain, the parameters are lost and the model gets a caveat.
#include <string.h>

#include "frontends/onnx/onnx_undo.h"

// ---- the origins of initializers ------------------------------------------------------------------------------------

static bool is_float(const dp_onnx_binding *b) {
  return b->initializer && b->tensor && dp_type_is_float(b->tensor->dtype);
}

static void find_sources(dp_onnx_undoing *u, const char *list, dp_onnx_origin *o) {
  const char *name;
  dp_onnx_entry *buffer = NULL;
  o->folded = true;
  while ((name = dp_onnx_signature_item(u->reader->arena, &list))) {
    dp_onnx_entry *entry = dp_onnx_signature_entry(u->signature, u->signature->by_target, name);
    if (entry && !entry->parameter) buffer = entry;
    if (!entry || !entry->parameter || entry == o->of) continue;
    o->several |= o->of != NULL;
    o->of = entry;
  }
  // If a buffer is involved, it is not another form of a parameter.
  o->several |= o->of && buffer;
}

// What is neither a parameter nor made from one is a constant or a buffer.
static void find_origins(dp_onnx_undoing *u) {
  u->n_bindings = u->scope->count;
  u->origins = dp_alloc_n(u->reader->arena, (size_t)u->n_bindings, sizeof *u->origins);
  for (int32_t i = 0; i < u->n_bindings; i++) {
    dp_onnx_binding *b = u->scope->bindings[i];
    if (!is_float(b)) continue;
    dp_onnx_entry *entry = dp_onnx_signature_entry(u->signature, u->signature->by_target, b->name);
    const char *list = dp_onnx_signature_of_value(u->reader, u->signature, b->name, "optimizer.folded_from");
    if (entry && entry->binding == b)
      u->origins[i].of = entry;
    else if (list)
      find_sources(u, list, &u->origins[i]);
    bool changed = entry && entry->parameter;
    if (!u->origins[i].of && !changed) b->role = DP_ONNX_FIXED;
    if (u->origins[i].of && !u->origins[i].of->parameter)
      b->role = u->origins[i].of->variable ? DP_ONNX_KEPT : DP_ONNX_FIXED;
  }
}

static void find_operations(dp_onnx_undoing *u) {
  const Dp__Onnx__Graph *graph = u->reader->message->graph;
  dp_arena *arena = u->reader->arena;
  dp_names *names = dp_names_create(arena);
  for (size_t i = 0; i < graph->n_node; i++) {
    const char *fx = dp_onnx_signature_of_node(graph->node[i]);
    int32_t at = fx ? dp_names_find(names, fx) : -1;
    if (at < 0) {
      if (fx) dp_names_add(names, fx, u->n_operations);
      at = u->n_operations;
      dp_onnx_operation new = {.fx = fx};
      DP_PUSH(arena, u->operations, u->n_operations, new);
    }
    dp_onnx_operation *o = &u->operations[at];
    DP_PUSH(arena, o->nodes, o->n_nodes, graph->node[i]);
  }
}

// ---- one operation --------------------------------------------------------------------------------------------------

// Operations whose nodes take the parameters in the operation's order.
static bool keeps_order(const char *op) {
  static const char *const table[] = {"linear",
                                      "layer_norm",
                                      "native_layer_norm",
                                      "rms_norm",
                                      "group_norm",
                                      "native_group_norm",
                                      "instance_norm",
                                      "batch_norm",
                                      "_native_batch_norm_legit_functional",
                                      "_native_batch_norm_legit_no_training",
                                      "conv1d",
                                      "conv2d",
                                      "conv3d",
                                      "convolution",
                                      "prelu"};
  for (size_t i = 0; i < DP_COUNT(table); i++)
    if (!strcmp(table[i], op)) return true;
  return false;
}

static int find_slots(const dp_onnx_undoing *u, const dp_onnx_operation *o, dp_onnx_slot **slots) {
  int n = 0;
  for (int i = 0; i < o->n_nodes; i++) {
    for (size_t k = 0; k < o->nodes[i]->n_input; k++) {
      int32_t at = dp_names_find(u->scope->names, o->nodes[i]->input[k]);
      if (at < 0 || at >= u->n_bindings || !is_float(u->scope->bindings[at]) || !u->origins[at].of) continue;
      dp_onnx_slot s = {o->nodes[i], k, u->scope->bindings[at], &u->origins[at]};
      DP_PUSH(u->reader->arena, *slots, n, s);
    }
  }
  return n;
}

static int find_mentions(const dp_onnx_undoing *u, const dp_onnx_operation *o, dp_onnx_entry ***mentions) {
  const int stamp = (int)(o - u->operations) + 1;
  int n = 0;
  const char *at = NULL, *name;
  while (o->fx && (name = dp_onnx_signature_next(u->reader->arena, o->fx, &at))) {
    dp_onnx_entry *entry = dp_onnx_signature_entry(u->signature, u->signature->by_fx, name);
    if (!entry || entry->stamp == stamp) continue;
    entry->stamp = stamp;
    DP_PUSH(u->reader->arena, *mentions, n, entry);
  }
  return n;
}

// The parameters that an operand was made from are lost if it cannot be taken apart.
static void lose(dp_onnx_undoing *u, const dp_onnx_slot *s) {
  if (s->origin->several) {
    const char *list = dp_onnx_signature_of_value(u->reader, u->signature, s->binding->name, "optimizer.folded_from");
    const char *name;
    while (list && (name = dp_onnx_signature_item(u->reader->arena, &list))) {
      dp_onnx_entry *entry = dp_onnx_signature_entry(u->signature, u->signature->by_target, name);
      if (entry) entry->lost = true;
    }
  }
  s->origin->of->lost = true;
}

static dp_status give_or_lose(dp_onnx_undoing *u, const dp_onnx_slot *s, dp_onnx_entry *entry) {
  bool done = false;
  if (!s->origin->several) DP_TRY(dp_onnx_give(u, s, entry, &done));
  if (!done) entry->lost = true;
  if (!done) lose(u, s);
  return DP_OK;
}

// Keeps operands that the operation takes. An operand that it does not take is given to the only parameter without an
// operand.
static dp_status match_by_name(dp_onnx_undoing *u, int n_slots, const dp_onnx_slot *slots, int n,
                               dp_onnx_entry *const *mentions) {
  dp_onnx_entry *missing = NULL;
  int n_missing = 0, other = -1;
  bool same = true;  // all others are one initializer
  DP_TRY(dp_onnx_count_work(u->reader, (size_t)n_slots * (size_t)n));
  for (int i = 0; i < n; i++) {
    bool has = false;
    for (int k = 0; k < n_slots; k++) has |= slots[k].origin->of == mentions[i];
    if (!has) missing = mentions[i];
    n_missing += !has;
  }
  for (int k = 0; k < n_slots; k++) {
    bool known = false;
    for (int i = 0; i < n; i++) known |= slots[k].origin->of == mentions[i];
    if (known) {
      DP_TRY(give_or_lose(u, &slots[k], slots[k].origin->of));
      continue;
    }
    same &= other < 0 || slots[other].binding == slots[k].binding;
    other = k;
  }
  for (int k = 0; k < n_slots && other >= 0; k++) {
    bool known = false;
    for (int i = 0; i < n; i++) known |= slots[k].origin->of == mentions[i];
    if (known) continue;
    if (n_missing == 1 && same)
      DP_TRY(give_or_lose(u, &slots[k], missing));
    else if (dp_onnx_is_rewritten(slots[k].node))
      DP_TRY(give_or_lose(u, &slots[k], slots[k].origin->of));
    else if (!slots[k].origin->folded)
      DP_TRY(dp_onnx_give_constant(u, &slots[k]));
    else
      lose(u, &slots[k]);
  }
  if (n_missing == 1 && other >= 0 && same) return DP_OK;
  for (int i = 0; i < n; i++) {
    bool has = false;
    for (int k = 0; k < n_slots; k++) has |= slots[k].origin->of == mentions[i];
    mentions[i]->lost |= !has;
  }
  return DP_OK;
}

// Each parameter is an operand itself, in whatever order: the newer exporter transposes a weight by a node before the
// product that takes the first operand.
static bool has_all(int n_slots, const dp_onnx_slot *slots, int n, dp_onnx_entry *const *mentions) {
  for (int i = 0; i < n; i++) {
    bool has = false;
    for (int k = 0; k < n_slots; k++) has |= slots[k].origin->of == mentions[i] && !slots[k].origin->folded;
    if (!has) return false;
  }
  return true;
}

static dp_status undo_operation(dp_onnx_undoing *u, const dp_onnx_operation *o) {
  dp_onnx_slot *slots = NULL;
  dp_onnx_entry **mentions = NULL;
  int n_slots = find_slots(u, o, &slots), n = find_mentions(u, o, &mentions);
  if (!o->fx) {
    for (int k = 0; k < n_slots; k++) DP_TRY(give_or_lose(u, &slots[k], slots[k].origin->of));
    return DP_OK;
  }
  DP_TRY(dp_onnx_count_work(u->reader, (size_t)n_slots * (size_t)n));
  if (n != n_slots || !keeps_order(dp_onnx_signature_op(u->reader->arena, o->fx)) ||
      has_all(n_slots, slots, n, mentions))
    return match_by_name(u, n_slots, slots, n, mentions);
  for (int k = 0; k < n; k++) DP_TRY(give_or_lose(u, &slots[k], mentions[k]));
  return DP_OK;
}

dp_status dp_onnx_undo(dp_onnx_reader *reader, dp_onnx_scope *scope, dp_onnx_signature *signature,
                       dp_onnx_reasons *reasons) {
  dp_onnx_undoing u = {.reader = reader, .scope = scope, .signature = signature};
  find_origins(&u);
  find_operations(&u);
  for (int i = 0; i < u.n_operations; i++) DP_TRY(undo_operation(&u, &u.operations[i]));
  dp_onnx_whole(&u, reasons);
  return DP_OK;
}
