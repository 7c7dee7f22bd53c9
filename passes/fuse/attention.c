// attention: products, softmax and products again become dp.ScaledDotProductAttention, whose scores no memory holds.
//
//   softmax(scale Q K' [+ masks, or masked]) [where a row is not masked everywhere, or not NaN] [dropped] V
//
// is found by structure: with the scale on either operand or on the scores, with Q, K, V from transposes or not, with
// keys and values repeated for several heads, of rank 4, or of rank 3 with samples and heads in one dim. Nothing else
// may use a score or a probability. A mask that is known and hides exactly the later keys becomes the attribute
// is_causal. Before gradients are built, so that these are found too.
#include <math.h>
#include <string.h>

#include "ir/graph/builder.h"
#include "passes/base/pass.h"
#include "passes/fuse/causal.h"
#include "passes/simplify/rewrite.h"

// An operand to be read from `value` with its dims permuted: dim d of what is meant is dim perm[d] of the value.
typedef struct {
  dp_value *value;
  int64_t perm[4];
  int64_t times;  // for how many adjacent heads each of its heads is repeated
} view;

enum { MAX_MASKS = 4 };

typedef struct {
  view q, k, v;
  int n_masks;  // that are added; one, if it selects
  dp_value *masks[MAX_MASKS], *seed, *step;
  bool inverted;            // a bool mask is true where keys are masked
  bool causal;              // there is no mask, but keys are masked that come after the query
  const char *masked_rows;  // the operator's attribute
  bool has_masked;
  double scale, masked, ratio;
  int64_t key;
} attention;

typedef struct {
  dp_graph *graph;
  int32_t *uses;    // by value: nodes, outputs and updates
  int32_t *turned;  // by value: of these, transposes that exchange heads and lengths, at once or after copies
  dp_causal_masks *causal;
} work;

// ---- reading a graph ------------------------------------------------------------------------------------------------

static bool is(const dp_node *node, const char *op) {
  return node && !*node->op->domain && !strcmp(node->op->name, op);
}

static bool is_copy(const dp_node *node) {
  if (is(node, "Identity")) return true;
  if (is(node, "Cast")) return node->inputs[0]->type->dtype == node->outputs[0]->type->dtype;
  if (!is(node, "Reshape") && !is(node, "Slice")) return false;
  size_t count = 0;
  const int64_t *steps = dp_node_ints(node, "steps", &count);
  for (size_t i = 0; i < count; i++)
    if (steps[i] != 1) return false;
  return dp_shape_equal(&node->inputs[0]->type->shape, &node->outputs[0]->type->shape);
}

// Scores of 16 bits as float32, or probabilities of float32 in 16 bits. The operator has both in float32 where Q, K and
// V have 16 bits.
static bool widens(const dp_node *node) {
  return dp_op_widening(node) > 0 && node->outputs[0]->type->dtype == DP_FLOAT32;
}

static bool narrows(const dp_node *node) {
  return dp_op_widening(node) < 0 && node->inputs[0]->type->dtype == DP_FLOAT32;
}

// The number in a constant of one element, or in what is computed from such constants.
static bool number_of(const dp_value *x, int depth, double *number) {
  static const char *const same[] = {"Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Expand"};
  const dp_node *node = x->producer;
  double a, b;
  if (x->kind == DP_VALUE_CONSTANT) {
    if (dp_tensor_count(x->constant) != 1 || !dp_type_is_float(x->type->dtype)) return false;
    *number = dp_element_get(x->type->dtype, x->constant->data);
    return true;
  }
  if (!node || *node->op->domain || !depth || !node->n_inputs || !number_of(node->inputs[0], depth - 1, &a))
    return false;
  *number = a;
  for (size_t i = 0; i < DP_COUNT(same); i++)
    if (is(node, same[i])) return dp_type_is_float(x->type->dtype);
  if (is(node, "Sqrt")) return *number = sqrt(a), true;
  if (is(node, "Reciprocal")) return *number = 1 / a, true;
  if (node->n_inputs != 2 || !node->inputs[1] || !number_of(node->inputs[1], depth - 1, &b)) return false;
  if (is(node, "Mul")) return *number = a * b, true;
  if (is(node, "Div")) return *number = a / b, true;
  return false;
}

static bool is_number(const dp_value *x, double wanted) {
  double number;
  return number_of(x, 4, &number) && number == wanted;
}

// Takes a factor off: what remains to be scaled by *scale. NULL: there is none.
static dp_value *unscaled(dp_value *x, double *scale) {
  const dp_node *node = x->producer;
  const bool mul = is(node, "Mul"), div = is(node, "Div");
  double number;
  for (int i = 0; (mul || div) && i < 2; i++) {
    if (div && i) break;
    dp_value *rest = node->inputs[i];
    if (!dp_shape_equal(&rest->type->shape, &x->type->shape) || !number_of(node->inputs[1 - i], 4, &number)) continue;
    *scale = mul ? *scale * number : *scale / number;
    return rest;
  }
  return NULL;
}

// Takes a permutation off.
static bool unturn(view *v) {
  const dp_node *node = v->value->producer;
  size_t rank;
  if (!is(node, "Transpose")) return false;
  const int64_t *perm = dp_node_ints(node, "perm", &rank);
  int64_t all = v->value->type->shape.rank;
  for (int d = 0; d < all; d++) v->perm[d] = perm ? perm[v->perm[d]] : all - 1 - v->perm[d];
  v->value = node->inputs[0];
  return true;
}

// Takes off a transpose of matrices whose leading dims are merged before and separated after it.
static bool unturn_merged(view *v) {
  static const int64_t swapped[] = {0, 1, 3, 2};
  const dp_node *separate = v->value->producer;
  const dp_node *turn = is(separate, "Reshape") ? separate->inputs[0]->producer : NULL;
  const dp_node *merge = is(turn, "Transpose") ? turn->inputs[0]->producer : NULL;
  size_t count;
  if (!is(merge, "Reshape") || v->value->type->shape.rank != 4 || merge->inputs[0]->type->shape.rank != 4) return false;
  const int64_t *perm = dp_node_ints(turn, "perm", &count);
  if (!perm || count != 3 || perm[0] != 0 || perm[1] != 2) return false;
  const dp_dim *from = merge->inputs[0]->type->shape.dims, *merged = merge->outputs[0]->type->shape.dims;
  for (int d = 0; d < 4; d++)
    if (!dp_dim_equal(v->value->type->shape.dims[d], from[swapped[d]])) return false;
  if (!dp_dim_equal(merged[1], from[2]) || !dp_dim_equal(merged[2], from[3])) return false;
  for (int d = 0; d < 4; d++) v->perm[d] = swapped[v->perm[d]];
  v->value = merge->inputs[0];
  return true;
}

// Takes a repetition of heads off: Reshape(Expand(x with a dim of extent 1 after the heads)).
static bool unrepeat(view *v) {
  const dp_node *merge = v->value->producer, *expand, *insert;
  const int64_t axis = v->perm[2];
  if (v->times > 1 || v->value->type->shape.rank != 4 || !is(merge, "Reshape")) return false;
  expand = merge->inputs[0]->producer;
  if (!is(expand, "Expand") || expand->outputs[0]->type->shape.rank != 5) return false;
  insert = expand->inputs[0]->producer;
  if (!is(insert, "Unsqueeze") && !is(insert, "Reshape")) return false;
  dp_value *x = insert->inputs[0];
  if (x->type->shape.rank != 4 || insert->outputs[0]->type->shape.rank != 5) return false;
  const dp_dim *from = x->type->shape.dims, *one = insert->outputs[0]->type->shape.dims;
  const dp_dim *wide = expand->outputs[0]->type->shape.dims, *to = v->value->type->shape.dims;
  for (int d = 0; d < 5; d++) {
    if (d == axis + 1) continue;
    dp_dim extent = from[d > axis + 1 ? d - 1 : d];
    if (!dp_dim_equal(one[d], extent) || !dp_dim_equal(wide[d], extent)) return false;
  }
  for (int d = 0; d < 4; d++)
    if (d != axis && !dp_dim_equal(to[d], from[d])) return false;
  if (!dp_dim_is(one[axis + 1], 1) || dp_dim_is_symbolic(wide[axis + 1]) || wide[axis + 1].offset < 1) return false;
  v->times = wide[axis + 1].offset;
  v->value = x;
  return true;
}

// scale: NULL, or what factors go into.
static view view_of(dp_value *x, const int64_t *perm, bool repeated, double *scale) {
  view v = {.value = x, .times = 1};
  memcpy(v.perm, perm, (size_t)x->type->shape.rank * sizeof *perm);
  for (bool more = true; more;) {
    more = false;
    dp_value *rest = is_copy(v.value->producer) ? v.value->producer->inputs[0] : NULL;
    if (!rest && scale) rest = unscaled(v.value, scale);
    if (rest) {
      v.value = rest;
      more = true;
    } else {
      more = unturn(&v) || unturn_merged(&v) || (repeated && unrepeat(&v));
    }
  }
  return v;
}

// ---- finding attention ----------------------------------------------------------------------------------------------

// Whether the user lets the two be one node: no constraint on the first, and one device and stage.
static bool goes_with(const dp_node *node, const dp_node *by) {
  return node && !node->n_constraints && node->device == by->device && node->stage == by->stage;
}

// The node that makes a value which nothing but `by` uses.
static dp_node *only_for(const work *w, const dp_value *x, const dp_node *by) {
  return w->uses[x->id] == 1 && goes_with(x->producer, by) ? x->producer : NULL;
}

// The product of Q and K' that x is after scaling. NULL: it is none.
static dp_node *scores_of(const work *w, dp_value *x, const dp_node *by, double *scale) {
  for (dp_node *node = only_for(w, x, by); node; node = only_for(w, x, by)) {
    if (is(node, "MatMul")) return node;
    dp_value *rest = is_copy(node) || widens(node) ? node->inputs[0] : unscaled(x, scale);
    if (!rest) return NULL;
    x = rest;
    by = node;
  }
  return NULL;
}

// Takes the masks off: several Adds, or one Where.
static dp_node *masked_scores_of(const work *w, dp_value *x, const dp_node *by, attention *a) {
  dp_node *node = only_for(w, x, by);
  for (; widens(node); node = only_for(w, x, by)) x = node->inputs[0], by = node;
  const bool where = is(node, "Where");
  for (int i = 0; node && i < 2 && (where || is(node, "Add")) && a->n_masks < MAX_MASKS; i++) {
    dp_value *scores = node->inputs[where + i], *other = node->inputs[where + 1 - i];
    attention with = *a;
    if (!dp_shape_equal(&scores->type->shape, &x->type->shape) || (where && !number_of(other, 4, &with.masked)))
      continue;
    if (where && a->n_masks) continue;
    with.masks[with.n_masks++] = where ? node->inputs[0] : other;
    with.has_masked = where;
    with.inverted = where && i;
    dp_node *product = where ? scores_of(w, scores, node, &with.scale) : masked_scores_of(w, scores, node, &with);
    if (!product || (with.has_masked && with.n_masks > 1)) continue;
    *a = with;
    return product;
  }
  return scores_of(w, x, by, &a->scale);
}

// Where(blind, 0, x): x, where *blind is not yet known or the same.
static dp_value *unblind(dp_value *x, const dp_value **blind) {
  const dp_node *node = x->producer;
  if (!is(node, "Where") || (*blind && node->inputs[0] != *blind) || !is_number(node->inputs[1], 0)) return NULL;
  *blind = node->inputs[0];
  return node->inputs[2];
}

// Whether `blind` is where the mask is -infinity for all keys.
static bool is_blind(const dp_value *blind, const dp_value *mask) {
  const dp_node *equal = blind->producer, *most = is(equal, "Equal") ? equal->inputs[0]->producer : NULL;
  size_t count = 0;
  if (!is(most, "ReduceMax") || !is_number(equal->inputs[1], -INFINITY) || !dp_node_int(most, "keepdims", 1))
    return false;
  const int64_t *axes = dp_node_ints(most, "axes", &count);
  int rank = most->inputs[0]->type->shape.rank;
  return most->inputs[0] == mask && count == 1 && (axes[0] < 0 ? axes[0] + rank : axes[0]) == rank - 1;
}

// Where(IsNaN(p), 0, p), the only use of p: p.
static dp_value *behind_nan(const work *w, const dp_node *node) {
  if (!is(node, "Where") || !is_number(node->inputs[1], 0)) return NULL;
  dp_value *p = node->inputs[2];
  const dp_value *nan = node->inputs[0];
  bool alone = is(nan->producer, "IsNaN") && nan->producer->inputs[0] == p && w->uses[nan->id] == 1;
  return alone && w->uses[p->id] == 2 ? p : NULL;
}

// The product of Q and K' behind the probabilities x.
static dp_node *behind_softmax(const work *w, dp_value *x, const dp_node *by, attention *a) {
  const dp_value *blind = NULL;
  dp_node *node = only_for(w, x, by);
  if (node && !strcmp(node->op->name, "Dropout") && !strcmp(node->op->domain, "dp")) {
    a->ratio = dp_node_float(node, "ratio", 0.5);
    a->key = dp_node_int(node, "key", 0);
    a->seed = node->inputs[1];
    a->step = node->inputs[2];
    by = node;
    x = node->inputs[0];
    node = only_for(w, x, by);
  }
  dp_value *number = behind_nan(w, node), *seen = node && !number ? unblind(x, &blind) : NULL;
  if (number || seen) {
    by = node;
    x = number ? number : seen;
    node = number ? x->producer : only_for(w, x, by);
  }
  if (number) a->masked_rows = "zero_if_nan";
  if (!is(node, "Softmax") || !goes_with(node, by)) return NULL;
  int64_t axis = dp_node_int(node, "axis", -1);
  if (axis != -1 && axis != x->type->shape.rank - 1) return NULL;
  by = node;
  x = node->inputs[0];
  if (blind) {
    node = only_for(w, x, by);
    seen = node ? unblind(x, &blind) : NULL;
    if (!seen) return NULL;
    by = node;
    x = seen;
    a->masked_rows = "zero";
  }
  node = masked_scores_of(w, x, by, a);
  return node && (!blind || (a->n_masks == 1 && !a->has_masked && is_blind(blind, a->masks[0]))) ? node : NULL;
}

// Makes the mask an attribute if it is the causal one: added or selecting, and then maybe made of a bool one by
// Where(seen, 0, -infinity) or Where(hidden, -infinity, 0).
static void take_causal(const work *w, const dp_shape *scores, attention *a) {
  const dp_dim queries = scores->dims[scores->rank - 2], keys = scores->dims[scores->rank - 1];
  if (a->n_masks != 1 || (a->has_masked && !dp_causal_hides(a->masked)) || dp_dim_is_symbolic(queries) ||
      dp_dim_is_symbolic(keys))
    return;
  const dp_value *mask = a->masks[0];
  bool inverted = a->inverted;
  while (!a->has_masked && is(mask->producer, "Cast") && dp_type_is_float(mask->producer->inputs[0]->type->dtype))
    mask = mask->producer->inputs[0];
  double x, y;
  const dp_node *where = is(mask->producer, "Where") ? mask->producer : NULL;
  if (where && !a->has_masked && number_of(where->inputs[1], 4, &x) && number_of(where->inputs[2], 4, &y) &&
      ((x == 0 && dp_causal_hides(y)) || (dp_causal_hides(x) && y == 0))) {
    mask = where->inputs[0];
    inverted = y == 0;
  }
  if (!dp_causal_is(w->causal, mask, inverted, queries.offset, keys.offset)) return;
  a->causal = true;
  a->n_masks = 0;
  a->has_masked = a->inverted = false;
  // Each row sees a key, so that none is masked everywhere.
  if (a->masked_rows && !strcmp(a->masked_rows, "zero")) a->masked_rows = NULL;
}

static bool same_dims(const dp_shape *a, const dp_shape *b, int count) {
  for (int d = 0; d < count; d++)
    if (!dp_dim_equal(a->dims[d], b->dims[d])) return false;
  return true;
}

// Whether `last` is the product with V of an attention.
static bool find(const work *w, const dp_node *last, attention *a) {
  static const int64_t by_length[][4] = {{0, 1, 2}, {0, 2, 1, 3}}, of_keys[][4] = {{0, 2, 1}, {0, 3, 1, 2}};
  *a = (attention){.scale = 1};
  if (!is(last, "MatMul") || last->n_constraints) return false;
  dp_value *p = last->inputs[0], *v = last->inputs[1];
  const int rank = v->type->shape.rank;
  for (const dp_node *before = only_for(w, p, last); is_copy(before) || narrows(before); before = only_for(w, p, last))
    last = before, p = last->inputs[0];
  const dp_node *product = behind_softmax(w, p, last, a);
  if (!product || rank < 3 || rank > 4) return false;
  dp_value *q = product->inputs[0], *k = product->inputs[1];
  const dp_dtype dtype = q->type->dtype;
  if (!dp_type_is_float(dtype) || v->type->dtype != dtype) return false;
  const dp_shape *scores = &product->outputs[0]->type->shape;
  if (q->type->shape.rank != rank || k->type->shape.rank != rank || !dp_shape_equal(scores, &p->type->shape))
    return false;
  if (!same_dims(&q->type->shape, scores, rank - 1) || !same_dims(&k->type->shape, scores, rank - 2) ||
      !same_dims(&v->type->shape, scores, rank - 2))
    return false;
  const bool four = rank == 4;
  if (four && dp_dim_is_symbolic(scores->dims[1])) return false;
  a->q = view_of(q, by_length[four], false, &a->scale);
  a->k = view_of(k, of_keys[four], four, &a->scale);
  a->v = view_of(v, by_length[four], four, NULL);
  // A repetition that only one of them has stays as it is.
  if (a->k.times != a->v.times) {
    double again = 1;
    a->k = view_of(k, of_keys[four], false, &again);
    a->v = view_of(v, by_length[four], false, NULL);
  }
  if (!isfinite(a->scale)) return false;
  take_causal(w, scores, a);
  return true;
}

// ---- building it ----------------------------------------------------------------------------------------------------

static dp_value *turn(dp_builder *b, dp_value *x, const int64_t *perm, int rank) {
  bool plain = true;
  for (int d = 0; d < rank; d++) plain &= perm[d] == d;
  dp_attr attr = dp_attr_ints(b->graph->arena, "perm", perm, (size_t)rank);
  return plain ? x : dp_build(b, "Transpose", 1, &x, 1, 1, &attr);
}

// x with a dim of extent 1 before dim `at`.
static dp_value *insert_dim(dp_builder *b, dp_value *x, int at) {
  dp_shape shape = x->type->shape;
  for (int d = shape.rank++; d > at; d--) shape.dims[d] = shape.dims[d - 1];
  shape.dims[at] = dp_dim_of(1);
  return dp_build_reshape(b, x, &shape);
}

// [batch, length, heads, size]
static dp_value *operand(dp_builder *b, const dp_rewrite *rewrite, const view *v) {
  dp_value *x = dp_rewrite_find(rewrite, v->value);
  int rank = x->type->shape.rank;
  x = turn(b, x, v->perm, rank);
  return rank == 3 ? insert_dim(b, x, 2) : x;
}

// The sum of two masks, in float32 where only one of them has 16 bits.
static dp_value *add_masks(dp_builder *b, dp_value *x, dp_value *y) {
  const bool differ = x->type->dtype != y->type->dtype;
  return dp_build2(b, "Add", differ ? dp_build_cast(b, x, DP_FLOAT32) : x,
                   differ ? dp_build_cast(b, y, DP_FLOAT32) : y);
}

static dp_value *mask_of(dp_builder *b, const dp_rewrite *rewrite, const attention *a, int rank) {
  if (!a->n_masks) return NULL;
  dp_value *x = dp_rewrite_find(rewrite, a->masks[0]);
  for (int i = 1; i < a->n_masks; i++) x = add_masks(b, x, dp_rewrite_find(rewrite, a->masks[i]));
  if (a->inverted) x = dp_build1(b, "Not", x);
  return rank == 3 && x->type->shape.rank == 3 ? insert_dim(b, x, 1) : x;
}

// Y, [batch, length, heads, size].
static dp_value *build(dp_builder *b, const dp_rewrite *rewrite, const attention *a, int rank, bool training) {
  dp_value *in[] = {operand(b, rewrite, &a->q),
                    operand(b, rewrite, &a->k),
                    operand(b, rewrite, &a->v),
                    mask_of(b, rewrite, a, rank),
                    NULL,
                    NULL};
  int n_inputs = in[3] ? 4 : 3, n_attrs = 0;
  dp_attr attrs[DP_MAX_ATTRS];
  attrs[n_attrs++] = dp_attr_float("scale", a->scale);
  if (a->has_masked && a->masked != -INFINITY) attrs[n_attrs++] = dp_attr_float("masked", a->masked);
  if (a->causal) attrs[n_attrs++] = dp_attr_int("is_causal", 1);
  if (a->masked_rows) attrs[n_attrs++] = dp_attr_string("masked_rows", a->masked_rows);
  if (a->ratio > 0) {
    attrs[n_attrs++] = dp_attr_float("ratio", a->ratio);
    attrs[n_attrs++] = dp_attr_int("key", a->key);
    in[4] = dp_rewrite_find(rewrite, a->seed);
    in[5] = dp_rewrite_find(rewrite, a->step);
    n_inputs = 6;
  }
  return dp_build(b, "dp.ScaledDotProductAttention", n_inputs, in, training ? 2 : 1, n_attrs, attrs);
}

// ---- the pass -------------------------------------------------------------------------------------------------------

static bool turns_heads(const dp_node *node) {
  static const int64_t wanted[] = {0, 2, 1, 3};
  size_t count = 0;
  const int64_t *perm = is(node, "Transpose") ? dp_node_ints(node, "perm", &count) : NULL;
  return perm && count == 4 && !node->n_constraints && !memcmp(perm, wanted, sizeof wanted);
}

static void count_uses(work *w) {
  const dp_graph *graph = w->graph;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      if (graph->nodes[i]->inputs[k]) w->uses[graph->nodes[i]->inputs[k]->id]++;
  for (int i = 0; i < graph->n_outputs; i++) w->uses[graph->outputs[i].value->id]++;
  for (int i = 0; i < graph->n_updates; i++) w->uses[graph->updates[i].value->id]++;
  for (int32_t i = graph->n_nodes; i-- > 0;) {
    const dp_node *node = graph->nodes[i];
    const dp_value *y = node->outputs[0];
    bool copies = is_copy(node) && !node->n_constraints && w->uses[y->id] && w->turned[y->id] == w->uses[y->id];
    if (turns_heads(node) || copies) w->turned[node->inputs[0]->id]++;
  }
}

// Replaces the result of `last`, whose users are nodes after it. direct: by Y as it is.
static dp_status replace(work *w, dp_rewrite *rewrite, dp_node *last, const attention *a, bool direct) {
  dp_graph *graph = w->graph;
  dp_builder builder = {.graph = graph, .prefix = last->name};
  dp_value *out = last->outputs[0];
  const int32_t first = graph->n_nodes;
  const int rank = out->type->shape.rank;
  dp_value *y = build(&builder, rewrite, a, rank, !strcmp(graph->name, "train"));
  if (builder.status) return builder.status;
  if (rank == 3)
    dp_rewrite_replace(rewrite, out, dp_build_reshape(&builder, y, &out->type->shape));
  else if (direct)
    dp_rewrite_replace(rewrite, out, y);  // its users are dropped
  else
    dp_rewrite_replace(rewrite, out, turn(&builder, y, (int64_t[]){0, 2, 1, 3}, rank));
  dp_rewrite_drop(rewrite, last);
  for (int32_t i = first; i < graph->n_nodes; i++) {
    graph->nodes[i]->device = last->device;
    graph->nodes[i]->stage = last->stage;
  }
  return builder.status;
}

// The new nodes go where the nodes were that they stand for. end: by old node, the end of those made up to it.
static void put_in_order(dp_graph *graph, dp_node **old, const bool *kept, const int32_t *made, int32_t n_old,
                         dp_node **new_nodes) {
  dp_node **nodes = dp_alloc_n(graph->arena, (size_t)graph->n_nodes, sizeof *nodes);
  int32_t count = 0, done = 0;
  for (int32_t i = 0; i < n_old; i++) {
    while (done < made[i]) nodes[count++] = new_nodes[done++];
    if (kept[i]) nodes[count++] = old[i];
  }
  dp_graph_reorder(graph, nodes);
}

static dp_status fuse(dp_graph *graph, dp_causal_masks *causal, bool *changed) {
  const int32_t n_old = graph->n_nodes;
  dp_arena *arena = graph->arena;
  work w = {graph, dp_alloc_n(arena, (size_t)graph->n_values, sizeof *w.uses),
            dp_alloc_n(arena, (size_t)graph->n_values, sizeof *w.turned), causal};
  dp_node **old = dp_alloc_n(arena, (size_t)n_old, sizeof *old);
  int32_t *made = dp_alloc_n(arena, (size_t)n_old, sizeof *made);
  bool *kept = dp_alloc_n(arena, (size_t)n_old, sizeof *kept), *direct = dp_alloc_n(arena, (size_t)graph->n_values, 1);
  dp_rewrite rewrite = dp_rewrite_begin(graph);
  count_uses(&w);
  for (int32_t i = 0; i < n_old; i++) {
    dp_node *node = old[i] = graph->nodes[i];
    attention a;
    kept[i] = true;
    if ((turns_heads(node) || is_copy(node)) && direct[node->inputs[0]->id]) {
      dp_rewrite_replace(&rewrite, node->outputs[0], dp_rewrite_find(&rewrite, node->inputs[0]));
      dp_rewrite_drop(&rewrite, node);
      kept[i] = false;
      direct[node->outputs[0]->id] = is_copy(node);
    } else if (find(&w, node, &a)) {
      const dp_value *out = node->outputs[0];
      direct[out->id] = out->type->shape.rank == 4 && w.turned[out->id] == w.uses[out->id];
      DP_TRY(replace(&w, &rewrite, node, &a, direct[out->id]));
      kept[i] = false;
    }
    made[i] = graph->n_nodes - n_old;
  }
  if (graph->n_nodes == n_old) return DP_OK;
  // Operands are replaced last: the search reads the graph as it was.
  for (int32_t i = 0; i < n_old; i++) dp_rewrite_operands(&rewrite, old[i]);
  const int32_t n_new = graph->n_nodes - n_old;
  dp_node **new_nodes = dp_memdup(arena, graph->nodes + n_old, (size_t)n_new * sizeof *new_nodes);
  dp_rewrite_end(&rewrite);
  put_in_order(graph, old, kept, made, n_old, new_nodes);
  *changed = true;
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  compile->unchanged = true;
  bool changed = false;
  dp_causal_masks causal = {.target = compile->options->target};
  for (int i = 0; i < compile->model->n_graphs && !compile->options->no_fuse; i++)
    DP_TRY(fuse(compile->model->graphs[i], &causal, &changed));
  compile->unchanged = !changed;
  return DP_OK;
}

const dp_pass dp_pass_attention = {
    .name = "attention",
    .what = "products, softmax and products become attention without stored scores",
    .needs = DP_HAS_PROGRAMS,
    .run = run,
};
