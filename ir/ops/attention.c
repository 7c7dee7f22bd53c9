// Attention(Q, K, V [, mask, past_key, past_value, nonpad_kv_seqlen]) -> Y [, present_key, present_value, qk]:
// softmax(scale Q K' + bias) V for every head. Specialized into products, masks and Softmax.
//
//   rank 4: [batch, heads, length, size]; rank 3: [batch, length, heads * size], with heads from the attributes.
//   A key may serve several adjacent query heads. The past comes before K and V along the length.
//   Query i of a block is at position i + past, or i + nonpad - length where nonpad_kv_seqlen counts the keys of each
//   batch element; causal and windowed masks use that position. A row in which every key is masked gives 0.
//
// The square root of the scale is applied to both Q and K, which rounds as ONNX's definition does. The softmax is
// computed in softmax_precision, or in Q's type without it.
#include <math.h>

#include "ir/ops/compose.h"

enum { Q, K, V, MASK, PAST_K, PAST_V, NONPAD };
enum { Y, PRESENT_K, PRESENT_V, QK };

typedef struct {
  dp_dim batch;
  int64_t heads, kv_heads, size, v_size, length, new_keys, past, keys;
} extents;

// The operand's heads, length and size.
static dp_status split_heads(const dp_node *node, int operand, const char *attribute, int64_t *heads, int64_t *length,
                             int64_t *size) {
  const dp_shape *x = dp_common_shape(node, operand);
  char text[256];
  int64_t given = dp_node_int(node, attribute, 0), width = x->rank > 2 ? dp_compose_fixed(x->dims[x->rank - 1]) : -1;
  bool flat = x->rank == 3;
  *length = x->rank > 2 ? dp_compose_fixed(x->dims[x->rank - 2]) : -1;
  *heads = flat ? given : x->rank == 4 ? dp_compose_fixed(x->dims[1]) : -1;
  if (width < 0 || *length < 0 || (!flat && *heads < 0) || x->rank > 4)
    return dp_fail(EX_DATAERR,
                   "%s has shape %s; [batch, heads, length, size] or [batch, length, heads * size] is expected, with "
                   "only the batch symbolic",
                   node->op->inputs[operand].name, dp_shape_print(x, text, sizeof text));
  if (*heads < 1 || (flat && width % *heads) || (!flat && given && given != *heads))
    return dp_fail(EX_DATAERR, "%s is %lld, which does not match %s of shape %s", attribute, (long long)given,
                   node->op->inputs[operand].name, dp_shape_print(x, text, sizeof text));
  *size = flat ? width / *heads : width;
  return DP_OK;
}

static dp_status check_past(const dp_node *node, const extents *e) {
  const dp_value *k = dp_common_operand(node, PAST_K), *v = dp_common_operand(node, PAST_V);
  if (!k != !v) return dp_fail(EX_DATAERR, "past_key and past_value must be given together");
  if (!k) return DP_OK;
  dp_shape keys = {4, {e->batch, dp_dim_of(e->kv_heads), dp_dim_of(e->past), dp_dim_of(e->size)}}, values = keys;
  values.dims[3] = dp_dim_of(e->v_size);
  DP_TRY(dp_common_expect("past_key", &k->type->shape, &keys));
  DP_TRY(dp_common_expect("past_value", &v->type->shape, &values));
  return dp_common_operand(node, NONPAD)
             ? dp_fail(EX_DATAERR, "nonpad_kv_seqlen cannot be combined with past_key and past_value")
             : DP_OK;
}

static dp_status extents_of(const dp_node *node, extents *e) {
  int64_t v_heads, v_length;
  char text[256];
  *e = (extents){.batch = dp_common_shape(node, Q)->dims[0]};
  DP_TRY(split_heads(node, Q, "q_num_heads", &e->heads, &e->length, &e->size));
  DP_TRY(split_heads(node, K, "kv_num_heads", &e->kv_heads, &e->new_keys, &v_length));
  if (v_length != e->size)
    return dp_fail(EX_DATAERR, "the heads of K have size %lld, those of Q %lld", (long long)v_length,
                   (long long)e->size);
  DP_TRY(split_heads(node, V, "kv_num_heads", &v_heads, &v_length, &e->v_size));
  bool fits = v_heads == e->kv_heads && v_length == e->new_keys && e->heads % e->kv_heads == 0 && e->size > 0;
  for (int i = K; i <= V; i++)
    fits &= dp_common_shape(node, i)->rank == dp_common_shape(node, Q)->rank &&
            dp_dim_equal(dp_common_shape(node, i)->dims[0], e->batch);
  if (!fits)
    return dp_fail(
        EX_DATAERR,
        "Q, K and V do not match: %lld query heads, %lld and %lld of keys and values of length %lld and %lld",
        (long long)e->heads, (long long)e->kv_heads, (long long)v_heads, (long long)e->new_keys, (long long)v_length);
  if (dp_common_operand(node, PAST_K)) {
    const dp_shape *past = dp_common_shape(node, PAST_K);
    e->past = past->rank == 4 ? dp_compose_fixed(past->dims[2]) : -1;
    if (e->past < 0)
      return dp_fail(EX_DATAERR, "past_key has shape %s; [batch, heads, length, size] is expected",
                     dp_shape_print(past, text, sizeof text));
  }
  e->keys = e->past + e->new_keys;
  return check_past(node, e);
}

static dp_status check_mask(const dp_node *node, const extents *e) {
  const dp_value *mask = dp_common_operand(node, MASK), *nonpad = dp_common_operand(node, NONPAD);
  dp_shape scores = {4, {e->batch, dp_dim_of(e->heads), dp_dim_of(e->length), dp_dim_of(e->keys)}}, both;
  dp_shape each = {1, {e->batch}};
  char text[256];
  if (nonpad) DP_TRY(dp_common_expect("nonpad_kv_seqlen", &nonpad->type->shape, &each));
  if (!mask) return DP_OK;
  dp_shape wide = mask->type->shape;
  int64_t last = wide.rank ? dp_compose_fixed(wide.dims[wide.rank - 1]) : -1;
  if (last < 0 || last > e->keys || wide.rank > 4)
    return dp_fail(EX_DATAERR, "attn_mask has shape %s where %lld keys are to be masked",
                   dp_shape_print(&mask->type->shape, text, sizeof text), (long long)e->keys);
  wide.dims[wide.rank - 1] = dp_dim_of(e->keys);  // keys beyond its end are masked
  DP_TRY(dp_shape_broadcast(&wide, &scores, &both));
  return dp_common_expect("the mask with the scores", &both, &scores);
}

static dp_status check_attrs(const dp_node *node) {
  static const char *const windows[] = {"left_window_size", "right_window_size"};
  int64_t mode = dp_node_int(node, "qk_matmul_output_mode", 0), precision = dp_node_int(node, "softmax_precision", 0);
  if (mode < 0 || mode > 3)
    return dp_fail(EX_DATAERR, "qk_matmul_output_mode is %lld where 0 to 3 is expected", (long long)mode);
  if (precision && (precision < 0 || precision > DP_MAX_TYPE || !dp_type_is_float((dp_dtype)precision)))
    return dp_fail(EX_DATAERR, "softmax_precision is %lld, which is not a float type", (long long)precision);
  for (size_t i = 0; i < DP_COUNT(windows); i++) {
    int64_t size = dp_node_int(node, windows[i], -1);
    if (size < -1 || size > INT32_MAX)
      return dp_fail(EX_DATAERR, "%s is %lld where -1 or a number of positions is expected", windows[i],
                     (long long)size);
  }
  return DP_OK;
}

static dp_status infer(dp_node *node) {
  extents e;
  dp_dtype dtype = node->inputs[Q]->type->dtype, v_dtype = node->inputs[V]->type->dtype;
  DP_TRY(extents_of(node, &e));
  DP_TRY(check_mask(node, &e));
  DP_TRY(check_attrs(node));
  dp_shape y = *dp_common_shape(node, Q);
  y.dims[y.rank - 1] = dp_dim_of(y.rank == 3 ? e.heads * e.v_size : e.v_size);
  dp_shape keys = {4, {e.batch, dp_dim_of(e.kv_heads), dp_dim_of(e.keys), dp_dim_of(e.size)}}, values = keys;
  dp_shape scores = {4, {e.batch, dp_dim_of(e.heads), dp_dim_of(e.length), dp_dim_of(e.keys)}};
  values.dims[3] = dp_dim_of(e.v_size);
  dp_common_set(node, Y, dtype, &y);
  dp_common_set(node, PRESENT_K, dtype, &keys);
  dp_common_set(node, PRESENT_V, v_dtype, &values);
  dp_common_set(node, QK, dtype, &scores);
  return DP_OK;
}

// ---- which keys a query may see -------------------------------------------------------------------------------------

// How many keys before and after its position a query sees; -1: all of them.
typedef struct {
  int64_t left, right;
} window;

static window window_of(const dp_node *node) {
  window w = {dp_node_int(node, "left_window_size", -1), dp_node_int(node, "right_window_size", -1)};
  if (dp_node_int(node, "is_causal", 0)) w.right = 0;
  return w;
}

static dp_value *both(dp_builder *b, dp_value *x, dp_value *y) {
  return x && y ? dp_build2(b, "And", x, y) : x ? x : y;
}

// from, from + 1 ..., one for each query, [length, 1].
static dp_value *queries_from(dp_builder *b, const extents *e, int64_t from) {
  return dp_compose_unsqueeze(b, dp_compose_range(b, DP_INT64, (double)from, 1, e->length), 1);
}

// Whether a key is within the window of the query at `position` ([length, 1] or [batch, 1, length, 1]). NULL: all
// are.
static dp_value *within(dp_builder *b, window w, dp_value *position, dp_value *keys) {
  dp_value *seen = NULL;
  if (w.right >= 0) seen = dp_build2(b, "LessOrEqual", keys, dp_elementwise_with(b, "Add", position, (double)w.right));
  if (w.left < 0) return seen;
  dp_value *first = dp_elementwise_with(b, "Sub", position, (double)w.left);
  return both(b, seen, dp_build2(b, "GreaterOrEqual", keys, first));
}

// [length, keys], where the queries' positions are known.
static dp_value *fixed_window(dp_builder *b, const dp_node *node, const extents *e) {
  window w = window_of(node);
  if (w.left < 0 && w.right < 0) return NULL;
  return within(b, w, queries_from(b, e, e->past), dp_compose_range(b, DP_INT64, 0, 1, e->keys));
}

// [batch, 1, 1 or length, keys], where a query's position is i + nonpad - length; keys from nonpad on are padding.
static dp_value *counted_window(dp_builder *b, const dp_node *node, const extents *e, dp_value *nonpad) {
  dp_shape shape = {4, {e->batch, dp_dim_of(1), dp_dim_of(1), dp_dim_of(1)}};
  dp_value *keys = dp_compose_range(b, DP_INT64, 0, 1, e->keys);
  nonpad = dp_build_reshape(b, nonpad, &shape);
  dp_value *position = dp_build2(b, "Add", nonpad, queries_from(b, e, -e->length));
  return both(b, dp_build2(b, "Less", keys, nonpad), within(b, window_of(node), position, keys));
}

// The mask extended to all keys: those beyond its end are masked.
static dp_value *whole_mask(dp_builder *b, dp_value *mask, const extents *e) {
  dp_shape rest = mask->type->shape;
  int axis = rest.rank - 1;
  rest.dims[axis] = dp_dim_of(e->keys - rest.dims[axis].offset);
  if (dp_dim_is(rest.dims[axis], 0)) return mask;
  double hidden = mask->type->dtype == DP_BOOL ? 0 : -INFINITY;
  return dp_compose_concat(b, mask, dp_compose_filled(b, mask->type->dtype, &rest, hidden), axis);
}

// The term added to the scores: 0, the mask's numbers, or -infinity where a key is masked. NULL: nothing.
static dp_value *bias_of(dp_builder *b, const dp_node *node, const extents *e, dp_value *const *in) {
  dp_dtype dtype = in[Q]->type->dtype;
  dp_value *mask = dp_common_operand(node, MASK) ? whole_mask(b, in[MASK], e) : NULL, *added = NULL;
  dp_value *seen = dp_common_operand(node, NONPAD) ? counted_window(b, node, e, in[NONPAD]) : fixed_window(b, node, e);
  if (mask && mask->type->dtype == DP_BOOL)
    seen = both(b, mask, seen);
  else if (mask)
    added = dp_build_cast(b, mask, dtype);
  if (!seen) return added;
  dp_value *zero = dp_build_fill(b, dtype, 0), *hidden = dp_build_fill(b, dtype, -INFINITY);
  return dp_compose_where(b, seen, added ? added : zero, hidden);
}

// ---- the products ---------------------------------------------------------------------------------------------------

// [batch, heads, length, size] of an operand of rank 3 or 4.
static dp_value *by_heads(dp_builder *b, dp_value *x, int64_t heads) {
  const dp_dim *d = x->type->shape.dims;
  if (x->type->shape.rank == 4) return x;
  dp_shape shape = {4, {d[0], d[1], dp_dim_of(heads), dp_dim_of(d[2].offset / heads)}};
  return dp_compose_swap(b, dp_build_reshape(b, x, &shape), 1, 2);
}

// Repeats each head of keys or values for the query heads that share it.
static dp_value *repeat_heads(dp_builder *b, dp_value *x, int64_t times) {
  const dp_dim *d = x->type->shape.dims;
  if (times == 1) return x;
  dp_shape wide = {5, {d[0], d[1], dp_dim_of(times), d[2], d[3]}};
  return dp_compose_merge(b, dp_compose_expand(b, dp_compose_unsqueeze(b, x, 2), &wide), 1, 3);
}

// The probabilities. A row in which every key is masked is 0 and has no gradient.
static dp_value *probabilities(dp_builder *b, const dp_node *node, dp_value *scores, dp_value *bias, dp_value **with) {
  dp_dtype dtype = scores->type->dtype, precise = (dp_dtype)dp_node_int(node, "softmax_precision", dtype);
  dp_value *zero = dp_build_fill(b, dtype, 0), *blind = NULL;
  *with = bias ? dp_build2(b, "Add", scores, bias) : scores;
  dp_value *safe = *with;
  bool may_be_blind = dp_common_operand(node, MASK) || dp_common_operand(node, NONPAD) || window_of(node).left >= 0;
  if (bias && may_be_blind) {
    int64_t last = bias->type->shape.rank - 1;
    dp_value *most = dp_build_reduce(b, "ReduceMax", bias, &last, 1, true);
    blind = dp_build2(b, "Equal", most, dp_build_fill(b, dtype, -INFINITY));
    safe = dp_compose_where(b, blind, zero, safe);
  }
  dp_value *p = dp_build_cast(b, dp_build1(b, "Softmax", dp_build_cast(b, safe, precise ? precise : dtype)), dtype);
  return blind ? dp_compose_where(b, blind, zero, p) : p;
}

static dp_value *scores_of(dp_builder *b, const dp_node *node, const extents *e, dp_value *q, dp_value *k) {
  double scale = dp_node_float(node, "scale", 1 / sqrt((double)e->size));
  k = dp_compose_swap(b, repeat_heads(b, k, e->heads / e->kv_heads), 2, 3);
  if (scale < 0) return dp_build2(b, "MatMul", dp_elementwise_with(b, "Mul", q, scale), k);
  q = dp_elementwise_with(b, "Mul", q, sqrt(scale));
  return dp_build2(b, "MatMul", q, dp_elementwise_with(b, "Mul", k, sqrt(scale)));
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  extents e;
  dp_status status = extents_of(node, &e);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  dp_value *k = by_heads(b, in[K], e.kv_heads), *v = by_heads(b, in[V], e.kv_heads);
  if (dp_common_operand(node, PAST_K)) k = dp_compose_concat(b, in[PAST_K], k, 2);
  if (dp_common_operand(node, PAST_V)) v = dp_compose_concat(b, in[PAST_V], v, 2);
  dp_value *raw = scores_of(b, node, &e, by_heads(b, in[Q], e.heads), k), *capped = raw, *with;
  double cap = dp_node_float(node, "softcap", 0);
  if (cap > 0)
    capped = dp_elementwise_with(b, "Mul", dp_build1(b, "Tanh", dp_elementwise_with(b, "Div", raw, cap)), cap);
  dp_value *p = probabilities(b, node, capped, bias_of(b, node, &e, in), &with);
  dp_value *values = repeat_heads(b, v, e.heads / e.kv_heads);
  dp_value *y = dp_build2(b, "MatMul", dp_build_cast(b, p, values->type->dtype), values);
  y = dp_build_cast(b, y, in[Q]->type->dtype);
  if (dp_common_shape(node, Q)->rank == 3) y = dp_compose_merge(b, dp_compose_swap(b, y, 1, 2), 2, 4);
  dp_value *stages[] = {raw, capped, with, p};
  dp_value *made[] = {y, k, v, stages[dp_node_int(node, "qk_matmul_output_mode", 0) & 3]};
  for (int i = 0; i < 4; i++)
    if (dp_common_result(node, i)) out[i] = dp_build1(b, "Identity", made[i]);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,2,3,4], float32[N,2,5,4], float32[N,2,5,3]", .n = 3},
    {.inputs = "float32[N,3,8], float32[N,4,4], float32[N,4,6], bool[3,4]",
     .attrs = "q_num_heads=4, kv_num_heads=2, scale=0.25, is_causal=1",
     .n = 2,
     .low = -1,
     .high = 1.5},
    {.inputs = "float32[N,2,2,4], float32[N,1,3,4], float32[N,1,3,4], float32[N,1,2,4], float32[N,1,2,4], "
               "float32[N,1,2,4]",
     .attrs = "softcap=2.0, qk_matmul_output_mode=1, is_causal=1, softmax_precision=11",
     .n = 2},
    {.inputs = "float32[N,2,4,2], float32[N,2,4,2], float32[N,2,4,2], , , , int64[N]",
     .attrs = "qk_matmul_output_mode=3, is_causal=1",
     .n = 3,
     .low = 0,
     .high = 4},
    {.inputs = "float32[N,1,5,2], float32[N,1,5,2], float32[N,1,5,2]",
     .attrs = "left_window_size=1, right_window_size=2, qk_matmul_output_mode=2",
     .n = 2,
     .no_gradient = true},
    {.inputs = "float32[N,1,4,2], float32[N,1,4,2], float32[N,1,4,2], float32[N,1,1,4], , , int64[N]",
     .attrs = "left_window_size=1, right_window_size=0",
     .n = 2,
     .low = 1,
     .high = 4},
    {0},
};

const dp_op dp_op_Attention = {
    .name = "Attention",
    .domain = "",
    .n_inputs = 7,
    .n_outputs = 4,
    .inputs = {DP_OPERAND("Q", DP_FLOATS, 'T'), DP_OPERAND("K", DP_FLOATS, 'T'), DP_OPERAND("V", DP_FLOATS, 'U'),
               DP_OPTIONAL("attn_mask", DP_FLOATS | DP_BIT(DP_BOOL), 0), DP_OPTIONAL("past_key", DP_FLOATS, 'T'),
               DP_OPTIONAL("past_value", DP_FLOATS, 'U'), DP_OPTIONAL("nonpad_kv_seqlen", DP_BIT(DP_INT64), 0)},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T'), DP_OPTIONAL("present_key", DP_FLOATS, 'T'),
                DP_OPTIONAL("present_value", DP_FLOATS, 'U'), DP_OPTIONAL("qk_matmul_output", DP_FLOATS, 'T')},
    .attrs = {DP_INT_ATTR("is_causal", 0),
              {.name = "q_num_heads", .kind = DP_ATTR_INT},
              {.name = "kv_num_heads", .kind = DP_ATTR_INT},
              DP_INT_ATTR("qk_matmul_output_mode", 0),
              {.name = "scale", .kind = DP_ATTR_FLOAT},
              DP_FLOAT_ATTR("softcap", 0),
              {.name = "softmax_precision", .kind = DP_ATTR_INT},
              DP_INT_ATTR("left_window_size", -1),
              DP_INT_ATTR("right_window_size", -1)},
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
