// Shared by dp.ScaledDotProductAttention and its gradient. See scaled_dot_product.h.
#include "ir/ops/scaled_dot_product.h"

#include <math.h>
#include <string.h>

enum { RANK = 4 };

// What is_causal goes without: nothing else hides keys, and hidden keys have no score.
static dp_status check_causal(const dp_node *node, int mask) {
  const int64_t causal = dp_node_int(node, "is_causal", 0);
  if (causal != 0 && causal != 1)
    return dp_fail(EX_DATAERR, "is_causal is %lld where 0 or 1 is expected", (long long)causal);
  if (causal && dp_common_operand(node, mask)) return dp_fail(EX_DATAERR, "is_causal cannot be combined with a mask");
  if (causal && dp_node_float(node, "masked", -INFINITY) != -INFINITY)
    return dp_fail(EX_DATAERR, "is_causal cannot be combined with masked");
  return DP_OK;
}

static dp_status check_attrs(const dp_node *node, int seed) {
  const char *rows = dp_node_string(node, "masked_rows", "nan");
  double ratio = dp_node_float(node, "ratio", 0);
  int64_t key = dp_node_int(node, "key", 0);
  dp_shape scalar = {0};
  if (strcmp(rows, "nan") && strcmp(rows, "zero") && strcmp(rows, "zero_if_nan"))
    return dp_fail(EX_DATAERR, "masked_rows is \"%s\" where \"nan\", \"zero\" or \"zero_if_nan\" is expected", rows);
  if (!(ratio >= 0 && ratio < 1))
    return dp_fail(EX_DATAERR, "ratio is %g where 0 or more and less than 1 is expected", ratio);
  if (key < 0 || key > UINT32_MAX)
    return dp_fail(EX_DATAERR, "key is %lld where a number of 32 bits is expected", (long long)key);
  bool has_seed = dp_common_operand(node, seed), has_step = dp_common_operand(node, seed + 1);
  if (has_seed != (ratio > 0) || has_step != (ratio > 0))
    return dp_fail(EX_DATAERR, "seed and step must be given exactly if ratio is not 0");
  if (has_seed) DP_TRY(dp_common_expect("seed", dp_common_shape(node, seed), &scalar));
  return has_step ? dp_common_expect("step", dp_common_shape(node, seed + 1), &scalar) : DP_OK;
}

dp_status dp_scaled_dot_product_check(const dp_node *node, int first, int mask, dp_scaled_dot_product *e) {
  const dp_shape *q = dp_common_shape(node, first), *k = dp_common_shape(node, first + 1);
  const dp_shape *v = dp_common_shape(node, first + 2);
  char texts[3][256];
  bool fits = q->rank == RANK && k->rank == RANK && v->rank == RANK;
  if (fits) {
    *e = (dp_scaled_dot_product){q->dims[0], q->dims[1], q->dims[2], q->dims[3], k->dims[1], k->dims[2], v->dims[3]};
    fits = !dp_dim_is_symbolic(e->heads) && !dp_dim_is_symbolic(e->groups) && e->heads.offset > 0 &&
           e->groups.offset > 0 && e->heads.offset % e->groups.offset == 0;
    dp_shape keys = {RANK, {e->batch, e->keys, e->groups, e->size}}, values = keys;
    values.dims[3] = e->v_size;
    fits = fits && dp_shape_equal(k, &keys) && dp_shape_equal(v, &values);
  }
  if (!fits)
    return dp_fail(EX_DATAERR,
                   "Q, K, V have shapes %s, %s, %s where [batch, length, heads, size] and twice [batch, keys, groups, "
                   "size] are expected, heads a multiple of groups",
                   dp_shape_print(q, texts[0], sizeof texts[0]), dp_shape_print(k, texts[1], sizeof texts[1]),
                   dp_shape_print(v, texts[2], sizeof texts[2]));
  if (dp_common_operand(node, mask)) {
    dp_shape scores = dp_scaled_dot_product_scores(e), both;
    DP_TRY(dp_shape_broadcast(dp_common_shape(node, mask), &scores, &both));
    DP_TRY(dp_common_expect("the mask with the scores", &both, &scores));
    dp_dtype dtype = node->inputs[mask]->type->dtype, computed = node->inputs[first]->type->dtype;
    const bool half = computed == DP_FLOAT16 || computed == DP_BFLOAT16;
    if (dtype != DP_BOOL && dtype != computed && !(half && dtype == DP_FLOAT32))
      return dp_fail(EX_DATAERR, "the mask is %s where bool or %s, as Q, is expected", dp_type_name(dtype),
                     dp_type_name(computed));
  }
  DP_TRY(check_causal(node, mask));
  return check_attrs(node, mask + 1);
}

dp_shape dp_scaled_dot_product_scores(const dp_scaled_dot_product *e) {
  return (dp_shape){RANK, {e->batch, e->heads, e->length, e->keys}};
}

dp_shape dp_scaled_dot_product_statistics(const dp_scaled_dot_product *e) {
  return (dp_shape){3, {e->batch, e->heads, e->length}};
}

dp_dtype dp_scaled_dot_product_statistics_type(dp_dtype dtype) { return dtype == DP_FLOAT64 ? DP_FLOAT64 : DP_FLOAT32; }

// ---- sharding -------------------------------------------------------------------------------------------------------

typedef enum { BATCH, LENGTH, HEADS, V_SIZE, AXES } axis;

// The dim of a part that lies along the axis. A mask's are counted in the scores.
static int dim_of(dp_scaled_dot_product_part part, axis along) {
  static const int dims[][AXES] = {
      [DP_SDP_QUERY] = {0, 1, 2, DP_WHOLE},
      [DP_SDP_QUERY_GRAD] = {0, 1, 2, DP_SUMMED},
      [DP_SDP_RESULT] = {0, 1, 2, 3},
      [DP_SDP_KEY] = {0, DP_WHOLE, 2, DP_WHOLE},
      [DP_SDP_KEY_GRAD] = {0, DP_SUMMED, 2, DP_SUMMED},
      [DP_SDP_VALUE] = {0, DP_WHOLE, 2, 3},
      [DP_SDP_VALUE_GRAD] = {0, DP_SUMMED, 2, 3},
      [DP_SDP_MASK] = {0, 2, 1, DP_WHOLE},
      [DP_SDP_MASK_GRAD] = {0, 2, 1, DP_SUMMED},
      [DP_SDP_STATISTICS] = {0, 2, 1, DP_WHOLE},
      [DP_SDP_SCALAR] = {DP_WHOLE, DP_WHOLE, DP_WHOLE, DP_WHOLE},
  };
  return dims[part][along];
}

static bool has_groups(dp_scaled_dot_product_part part) { return part >= DP_SDP_KEY && part <= DP_SDP_VALUE_GRAD; }

// view: of the groups where heads are split, `each` of which belong to one group.
static dp_placement place(const dp_value *value, dp_scaled_dot_product_part part, axis along, dp_placement view,
                          int64_t each) {
  if (!value) return dp_replicate();
  int dim = dim_of(part, along);
  if (part == DP_SDP_MASK && dim >= 0) {
    dim -= RANK - value->type->shape.rank;
    if (dim < 0 || dp_dim_is(value->type->shape.dims[dim], 1)) dim = DP_WHOLE;
  }
  // All heads share one group: each device has all keys, and sums its part of their gradient.
  if (along == HEADS && has_groups(part) && dp_dim_is(value->type->shape.dims[2], 1))
    dim = part == DP_SDP_KEY || part == DP_SDP_VALUE ? DP_WHOLE : DP_SUMMED;
  else if (along == HEADS && !has_groups(part))
    view.unit *= each;
  if (dim == DP_SUMMED) return dp_partial(DP_SUM);
  return dim == DP_WHOLE ? dp_replicate() : dp_shard_in(dim, view.outer, view.unit);
}

static void split_along(dp_sharding_rules *rules, axis along, dp_dim extent, int64_t each,
                        const dp_scaled_dot_product_part *in, const dp_scaled_dot_product_part *out) {
  const dp_node *node = rules->node;
  for (int v = 0; v < rules->n_views; v++) {
    if (!dp_sharding_divides(rules->views[v], extent)) continue;
    if (along == LENGTH && rules->views[v].outer > 1 && dp_node_int(node, "is_causal", 0)) continue;
    dp_sharding_rule *rule = dp_sharding_add(rules);
    if (along == LENGTH) rule->axis = DP_CONTEXT_AXIS;
    for (int i = 0; i < node->n_inputs; i++) rule->in[i] = place(node->inputs[i], in[i], along, rules->views[v], each);
    for (int i = 0; i < node->n_outputs; i++)
      rule->out[i] = place(node->outputs[i], out[i], along, rules->views[v], each);
  }
}

void dp_scaled_dot_product_sharding(dp_sharding_rules *rules, const dp_scaled_dot_product *e,
                                    const dp_scaled_dot_product_part *in, const dp_scaled_dot_product_part *out) {
  bool shared = dp_dim_is(e->groups, 1);
  split_along(rules, BATCH, e->batch, 1, in, out);
  split_along(rules, LENGTH, e->length, 1, in, out);
  split_along(rules, V_SIZE, e->v_size, 1, in, out);
  split_along(rules, HEADS, shared ? e->heads : e->groups, shared ? 1 : e->heads.offset / e->groups.offset, in, out);
}

dp_cost dp_scaled_dot_product_cost(const dp_node *node, int64_t n, int first, double products) {
  const dp_shape *q = dp_common_shape(node, first), *k = dp_common_shape(node, first + 1);
  double keys = (double)dp_shape_count(&(dp_shape){1, {k->dims[1]}}, n);
  return dp_common_cost(node, n, 2 * products * keys * (double)dp_shape_count(q, n));
}
