// Causal masks. See causal.h.
#include "passes/fuse/causal.h"

#include <string.h>

#include "passes/simplify/fold.h"

// A mask is computed once, and is freed again.
static const int64_t most_bytes = (int64_t)1 << 29;

static bool is_repetition(const dp_value *x) {
  const dp_node *node = x->producer;
  if (!node || *node->op->domain || strcmp(node->op->name, "Expand")) return false;
  const dp_shape *to = &x->type->shape, *from = &node->inputs[0]->type->shape;
  for (int d = 1; d <= 2; d++)
    if (from->rank < 2 || !dp_dim_equal(to->dims[to->rank - d], from->dims[from->rank - d])) return false;
  return true;
}

static bool sees(const dp_tensor *mask, bool inverted, int64_t i, bool *known) {
  const double number = dp_tensor_get(mask, i);
  if (mask->dtype == DP_BOOL) return (number != 0) != inverted;
  *known &= number == 0 || dp_causal_hides(number);
  return number == 0;
}

// Whether each of its matrices is one of 1 up to the diagonal, and 0 after it.
static bool is_triangle(const dp_tensor *mask, bool inverted, int64_t queries, int64_t keys) {
  const int64_t count = dp_tensor_count(mask);
  bool known = true;
  for (int64_t i = 0; i < count && known; i++)
    if (sees(mask, inverted, i, &known) != (i % keys <= i / keys % queries)) return false;
  return known;
}

static bool has_extents(const dp_shape *shape, int64_t queries, int64_t keys) {
  return shape->rank >= 2 && dp_dim_is(shape->dims[shape->rank - 2], queries) &&
         dp_dim_is(shape->dims[shape->rank - 1], keys) && queries > 0 && keys > 0;
}

static bool check(const dp_target *target, const dp_value *mask, bool inverted, int64_t queries, int64_t keys) {
  dp_arena *scratch = dp_arena_create(0);
  if (!scratch) return false;  // it stays a mask
  const dp_tensor *tensor = dp_fold_value(target, scratch, mask, most_bytes);
  const bool is = tensor && is_triangle(tensor, inverted, queries, keys);
  dp_arena_destroy(scratch);
  return is;
}

// Whether two values are computed alike, from equal constants. `nodes` bounds the search.
static bool is_same(const dp_value *x, const dp_value *y, int *nodes) {
  const dp_node *a = x->producer, *b = y->producer;
  if (x == y) return true;
  if (x->kind != y->kind || (*nodes)-- <= 0) return false;
  if (x->kind == DP_VALUE_CONSTANT) {
    const dp_attr of_x = {.name = "", .kind = DP_ATTR_TENSOR, .tensor = x->constant};
    const dp_attr of_y = {.name = "", .kind = DP_ATTR_TENSOR, .tensor = y->constant};
    return dp_attr_equal(&of_x, &of_y);
  }
  if (!a || !b || a->op != b->op || a->n_inputs != b->n_inputs || a->n_attrs != b->n_attrs) return false;
  for (int i = 0; i < a->n_attrs; i++) {
    const dp_attr *other = dp_node_attr(b, a->attrs[i].name);
    if (!other || !dp_attr_equal(&a->attrs[i], other)) return false;
  }
  for (int i = 0; i < a->n_inputs; i++)
    if (!a->inputs[i] != !b->inputs[i] || (a->inputs[i] && !is_same(a->inputs[i], b->inputs[i], nodes))) return false;
  return a->n_outputs == 1 && b->n_outputs == 1;
}

bool dp_causal_is(dp_causal_masks *masks, const dp_value *mask, bool inverted, int64_t queries, int64_t keys) {
  int nodes = 256;
  while (is_repetition(mask)) mask = mask->producer->inputs[0];
  if (!has_extents(&mask->type->shape, queries, keys)) return false;
  if (masks->last && masks->inverted == inverted && dp_shape_equal(&mask->type->shape, &masks->last->type->shape) &&
      is_same(mask, masks->last, &nodes))
    return masks->is_causal;
  masks->last = mask;
  masks->inverted = inverted;
  return masks->is_causal = check(masks->target, mask, inverted, queries, keys);
}
