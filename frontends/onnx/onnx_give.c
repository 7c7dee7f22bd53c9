// Gives an operand back to its parameter: to another one with the same initial value, or to one that was transposed or
// reshaped. See onnx_undo.c.
#include <string.h>

#include "frontends/onnx/onnx_undo.h"

bool dp_onnx_is_rewritten(const Dp__Onnx__Node *node) {
  return dp_onnx_signature_find(node->n_metadata_props, node->metadata_props, "rule_name") != NULL;
}

typedef enum { UNKNOWN = 0, TRANSPOSED = 1, RESHAPED = 2 } form;

// Operations that tell how an operand was computed from the parameter: aten.linear multiplies by the transposed weight;
// slopes, scales and shifts have rank 1.
static form form_by_operation(const dp_onnx_undoing *u, const dp_onnx_slot *s) {
  static const struct {
    const char *fx, *op;
    size_t operand;
    form form;
  } table[] = {{"linear", "MatMul", 1, TRANSPOSED},
               {"prelu", "PRelu", 1, RESHAPED},
               {"group_norm", "Mul", 1, RESHAPED},
               {"group_norm", "Add", 1, RESHAPED}};
  const char *fx = dp_onnx_signature_of_node(s->node);
  // A rule that rewrote the node may have put more into the operand.
  if (!fx || dp_onnx_is_rewritten(s->node)) return UNKNOWN;
  const char *name = dp_onnx_signature_op(u->reader->arena, fx);
  for (size_t i = 0; i < DP_COUNT(table); i++)
    if (!strcmp(table[i].fx, name) && !strcmp(table[i].op, s->node->op_type) && table[i].operand == s->operand &&
        (table[i].form == RESHAPED || s->binding->tensor->rank == 2))
      return table[i].form;
  return UNKNOWN;
}

static void transpose(const dp_tensor *x, char *y) {
  const size_t each = dp_type_bytes(x->dtype), rows = (size_t)x->extents[0], columns = (size_t)x->extents[1];
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; k < columns; k++)
      memcpy(y + (k * rows + i) * each, (const char *)x->data + (i * columns + k) * each, each);
}

static bool same_data(const dp_tensor *a, const dp_tensor *b) {
  return a->dtype == b->dtype && a->bytes == b->bytes && !memcmp(a->data, b->data, a->bytes);
}

static bool same_shape(const dp_tensor *a, const dp_tensor *b) {
  return a->rank == b->rank && !memcmp(a->extents, b->extents, (size_t)a->rank * sizeof *a->extents);
}

static const dp_tensor *transposed(dp_arena *arena, const dp_tensor *x) {
  dp_tensor y = *x;
  y.extents[0] = x->extents[1];
  y.extents[1] = x->extents[0];
  char *data = dp_alloc(arena, x->bytes + 1);
  transpose(x, data);
  y.data = data;
  return dp_memdup(arena, &y, sizeof y);
}

// How `folded` was made from `whole`, by their data; UNKNOWN if it is neither form, or could be both.
static form form_by_data(dp_arena *arena, const dp_tensor *folded, const dp_tensor *whole) {
  bool plain = same_data(folded, whole);
  if (folded->rank != 2 || whole->rank != 2) return plain ? RESHAPED : UNKNOWN;
  const dp_tensor *back = transposed(arena, folded);
  bool turned = same_shape(back, whole) && same_data(back, whole);
  if (plain && turned) return same_shape(folded, whole) ? UNKNOWN : TRANSPOSED;
  return turned ? TRANSPOSED : plain ? RESHAPED : UNKNOWN;
}

static dp_status bind(dp_onnx_undoing *u, const char *name, dp_onnx_binding binding, dp_onnx_binding **bound) {
  binding.initializer = true;
  binding.name = name;
  DP_TRY(dp_onnx_count_work(u->reader, 1));
  DP_TRY(dp_onnx_scope_bind(u->reader, u->scope, name, binding));
  *bound = u->scope->bindings[u->scope->count - 1];
  return DP_OK;
}

static void rename_operand(const dp_onnx_slot *s, const char *name) {
  s->node->input[s->operand] = (char *)(uintptr_t)name;
}

// Adds the parameter or buffer, with this initial value, if the file has no initializer for it.
static dp_status restore(dp_onnx_undoing *u, dp_onnx_entry *entry, const dp_tensor *tensor, bool *done) {
  *done = dp_names_find(u->scope->names, entry->target) < 0;
  if (!*done) return DP_OK;
  dp_onnx_role role = entry->parameter ? DP_ONNX_TRAINED : entry->variable ? DP_ONNX_KEPT : DP_ONNX_FIXED;
  return bind(u, entry->target, (dp_onnx_binding){.tensor = tensor, .role = role}, &entry->binding);
}

static dp_status give_folded(dp_onnx_undoing *u, const dp_onnx_slot *s, dp_onnx_entry *entry, bool *done) {
  dp_arena *arena = u->reader->arena;
  const dp_tensor *folded = s->binding->tensor, *whole = entry->binding ? entry->binding->tensor : NULL;
  const form certain = form_by_operation(u, s);
  const form found = whole ? form_by_data(arena, folded, whole) : certain;
  *done = false;
  DP_TRY(dp_onnx_count_work(u->reader, (size_t)dp_tensor_count(folded)));
  if (whole && certain) {
    const dp_tensor *back = certain == TRANSPOSED ? transposed(arena, folded) : folded;
    if (!same_data(back, whole) || (certain == TRANSPOSED && !same_shape(back, whole))) return DP_OK;
  }
  form form = certain ? certain : found;
  if (form == UNKNOWN) return DP_OK;
  if (!whole) {
    dp_tensor flat = *folded;
    flat.rank = 1;
    flat.extents[0] = dp_tensor_count(folded);
    const dp_tensor *first = form == TRANSPOSED ? transposed(arena, folded) : dp_memdup(arena, &flat, sizeof flat);
    DP_TRY(restore(u, entry, first, done));
    if (!*done) return DP_OK;
  }
  *done = true;
  const char *name = dp_printf(arena, "%s/%s%d", entry->target, form == TRANSPOSED ? "transposed" : "reshaped",
                               form == TRANSPOSED ? 2 : folded->rank);
  int32_t at = dp_names_find(u->scope->names, name);
  dp_onnx_binding *b = at < 0 ? NULL : u->scope->bindings[at];
  if (!b)
    DP_TRY(bind(u, name,
                (dp_onnx_binding){.tensor = folded, .source = entry->binding, .transposed = form == TRANSPOSED}, &b));
  if (!same_shape(b->tensor, folded) || b->source != entry->binding) *done = false;
  if (*done) rename_operand(s, name);
  return DP_OK;
}

dp_status dp_onnx_give(dp_onnx_undoing *u, const dp_onnx_slot *s, dp_onnx_entry *entry, bool *done) {
  *done = true;
  if (s->origin->of != entry) u->merged = true;
  if (s->origin->folded) return give_folded(u, s, entry, done);
  if (entry->binding == s->binding) return DP_OK;
  if (!entry->binding) DP_TRY(restore(u, entry, s->binding->tensor, done));
  if (!*done) return DP_OK;
  *done =
      same_data(entry->binding->tensor, s->binding->tensor) && same_shape(entry->binding->tensor, s->binding->tensor);
  if (*done) rename_operand(s, entry->target);
  return DP_OK;
}

dp_status dp_onnx_give_constant(dp_onnx_undoing *u, const dp_onnx_slot *s) {
  const char *name = dp_printf(u->reader->arena, "%s/constant", s->binding->name);
  dp_onnx_binding *b;
  if (dp_names_find(u->scope->names, name) < 0)
    DP_TRY(bind(u, name, (dp_onnx_binding){.tensor = s->binding->tensor, .role = DP_ONNX_FIXED}, &b));
  rename_operand(s, name);
  return DP_OK;
}
