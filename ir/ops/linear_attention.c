// LinearAttention(query, key, value, past_state, decay, beta) -> output, present_state: attention as a recurrence along
// a sequence of known length. Each of kv_num_heads heads has a state S [d_k, d_v], which starts as past_state or 0.
// Each position computes
//
//   S = exp(decay) S               in the rules gated, gated_delta
//   v = beta (v - S' k)            in the rules delta, gated_delta
//   S = S + k v'
//   output = scale S' q            of each of the query heads that share S
//
// query [batch, length, q_num_heads * d_k], key, value [batch, length, kv_num_heads * d_k, d_v], decay [..,
// kv_num_heads or kv_num_heads * d_k], beta [.., kv_num_heads or 1], states [batch, kv_num_heads, d_k, d_v]. Types of
// 16 bits are computed in float32. Specialized into the operators of each step.
#include <math.h>
#include <string.h>

#include "ir/ops/compose.h"

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };

typedef struct {
  dp_dim batch;
  int64_t length, heads, shared, d_k, d_v;  // heads: of keys and values; shared: query heads of each
  int64_t decays, betas;                    // numbers of a head (1 or d_k), and heads (heads or 1); 0: none
} extents;

static const struct {
  const char *name;
  bool decays, corrects;
} rules[] = {{"linear", false, false}, {"gated", true, false}, {"delta", false, true}, {"gated_delta", true, true}};

// What the last dim of operand i, of [batch, length, ..], is; -1: nothing of the kind.
static int64_t width_of(const dp_node *node, int i) {
  const dp_shape *x = dp_common_shape(node, i), *q = dp_common_shape(node, QUERY);
  if (x->rank != 3 || !dp_dim_equal(x->dims[0], q->dims[0]) || !dp_dim_equal(x->dims[1], q->dims[1])) return -1;
  return dp_compose_fixed(x->dims[2]);
}

static dp_status refuse(const dp_node *node, int i, const char *expected) {
  char text[256];
  return dp_fail(EX_DATAERR, "%s has shape %s where [batch, length, %s] is expected", node->op->inputs[i].name,
                 dp_shape_print(dp_common_shape(node, i), text, sizeof text), expected);
}

static dp_status gates_of(const dp_node *node, extents *e) {
  const char *rule = dp_node_string(node, "update_rule", "gated_delta");
  size_t r = 0;
  while (r < DP_COUNT(rules) && strcmp(rule, rules[r].name)) r++;
  if (r == DP_COUNT(rules))
    return dp_fail(EX_DATAERR, "update_rule is '%s' where linear, gated, delta or gated_delta is expected", rule);
  bool decays = dp_common_operand(node, DECAY), corrects = dp_common_operand(node, BETA);
  if (decays != rules[r].decays || corrects != rules[r].corrects)
    return dp_fail(EX_DATAERR, "the update rule '%s' is one %s decay and %s beta", rule,
                   rules[r].decays ? "with" : "without", rules[r].corrects ? "with" : "without");
  if (decays) e->decays = width_of(node, DECAY) / e->heads;
  if (corrects) e->betas = width_of(node, BETA);
  if (decays && width_of(node, DECAY) != e->heads && width_of(node, DECAY) != e->heads * e->d_k)
    return refuse(node, DECAY, "kv_num_heads or kv_num_heads * d_k");
  if (corrects && e->betas != e->heads && e->betas != 1) return refuse(node, BETA, "kv_num_heads or 1");
  return DP_OK;
}

static dp_status extents_of(const dp_node *node, extents *e) {
  const dp_shape *q = dp_common_shape(node, QUERY);
  int64_t q_heads = dp_node_int(node, "q_num_heads", 0), heads = dp_node_int(node, "kv_num_heads", 0);
  if (heads < 1 || q_heads < 1 || q_heads % heads)
    return dp_fail(EX_DATAERR, "q_num_heads is %lld, which is no multiple of kv_num_heads, %lld", (long long)q_heads,
                   (long long)heads);
  int64_t width = q->rank == 3 ? dp_compose_fixed(q->dims[2]) : -1,
          length = q->rank == 3 ? dp_compose_fixed(q->dims[1]) : -1;
  if (width < 1 || width % q_heads) return refuse(node, QUERY, "q_num_heads * d_k");
  if (length < 1)
    return dp_fail(EX_DATAERR, "the length of the sequence depends on the batch or is 0; a fixed one is expected");
  *e = (extents){.batch = q->dims[0],
                 .length = length,
                 .heads = heads,
                 .shared = q_heads / heads,
                 .d_k = width / q_heads,
                 .d_v = width_of(node, VALUE) / heads};
  if (width_of(node, KEY) != heads * e->d_k) return refuse(node, KEY, "kv_num_heads * d_k");
  if (e->d_v < 1 || width_of(node, VALUE) % heads) return refuse(node, VALUE, "kv_num_heads * d_v");
  return gates_of(node, e);
}

static dp_shape state_of(const extents *e) {
  return (dp_shape){4, {e->batch, dp_dim_of(e->heads), dp_dim_of(e->d_k), dp_dim_of(e->d_v)}};
}

static dp_status infer(dp_node *node) {
  extents e;
  DP_TRY(extents_of(node, &e));
  dp_shape y = *dp_common_shape(node, QUERY), state = state_of(&e);
  const dp_value *past = dp_common_operand(node, PAST);
  if (past) DP_TRY(dp_common_expect("past_state", &past->type->shape, &state));
  y.dims[2] = dp_dim_of(e.heads * e.shared * e.d_v);
  dp_common_set(node, 0, node->inputs[QUERY]->type->dtype, &y);
  dp_common_set(node, 1, past ? past->type->dtype : node->inputs[QUERY]->type->dtype, &state);
  return DP_OK;
}

// x [batch, length, ..] at each position, each [batch, heads, rows, columns].
static dp_value **positions_of(dp_builder *b, const extents *e, dp_value *x, int64_t heads, int64_t rows,
                               int64_t columns) {
  dp_shape seen = {5, {e->batch, dp_dim_of(e->length), dp_dim_of(heads), dp_dim_of(rows), dp_dim_of(columns)}};
  dp_value **positions = dp_alloc_n(b->graph->arena, (size_t)e->length, sizeof(dp_value *));
  dp_value *first = dp_compose_swap(b, dp_build_reshape(b, x, &seen), 0, 1);
  if (!b->status) dp_compose_split_steps(b, first, 0, e->length, positions);
  return positions;
}

// The outputs at all positions, [length, batch, heads, shared, d_v]; *state is left as they end.
static dp_value *run(dp_builder *b, const dp_node *node, dp_value *const *in, const extents *e, dp_dtype dtype,
                     dp_value **state) {
  dp_value *x[BETA + 1] = {0}, **y = dp_alloc_n(b->graph->arena, (size_t)e->length, sizeof *y);
  for (int i = 0; i <= BETA; i++)
    if (dp_common_operand(node, i)) x[i] = dp_build_cast(b, in[i], dtype);
  double scale = dp_node_float(node, "scale", 0);
  x[QUERY] = dp_build2(b, "Mul", x[QUERY], dp_build_fill(b, dtype, scale != 0 ? scale : 1 / sqrt((double)e->d_k)));
  dp_value **q = positions_of(b, e, x[QUERY], e->heads, e->shared, e->d_k);
  dp_value **row = positions_of(b, e, x[KEY], e->heads, 1, e->d_k),
           **column = positions_of(b, e, x[KEY], e->heads, e->d_k, 1);
  dp_value **v = positions_of(b, e, x[VALUE], e->heads, 1, e->d_v), **kept = NULL, **beta = NULL;
  if (e->decays) kept = positions_of(b, e, dp_build1(b, "Exp", x[DECAY]), e->heads, e->decays, 1);
  if (e->betas) beta = positions_of(b, e, x[BETA], e->betas, 1, 1);
  dp_shape shape = state_of(e);
  dp_value *s = x[PAST] ? x[PAST] : dp_compose_filled(b, dtype, &shape, 0);
  for (int64_t t = 0; t < e->length && !b->status; t++) {
    dp_value *written = v[t];
    if (kept) s = dp_build2(b, "Mul", s, kept[t]);
    if (beta) written = dp_build2(b, "Mul", beta[t], dp_build2(b, "Sub", v[t], dp_build2(b, "MatMul", row[t], s)));
    s = dp_build2(b, "Add", s, dp_build2(b, "Mul", column[t], written));
    y[t] = dp_build2(b, "MatMul", q[t], s);
  }
  *state = s;
  return b->status ? s : dp_compose_concat_steps(b, y, 0, e->length);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  extents e;
  dp_status status = extents_of(node, &e);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  dp_dtype dtype = in[QUERY]->type->dtype == DP_FLOAT64 ? DP_FLOAT64 : DP_FLOAT32;
  dp_value *state, *y = dp_compose_swap(b, run(b, node, in, &e, dtype, &state), 0, 1);
  out[0] = dp_build_cast(b, dp_build_reshape(b, y, &node->outputs[0]->type->shape), node->outputs[0]->type->dtype);
  if (dp_common_result(node, 1)) out[1] = dp_build_cast(b, state, node->outputs[1]->type->dtype);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,8], float32[N,3,4], float32[N,3,6], , float32[N,3,2], float32[N,3,2]",
     .attrs = "q_num_heads=4, kv_num_heads=2, chunk_size=32",
     .n = 2},
    {.inputs = "float32[N,2,4], float32[N,2,4], float32[N,2,4], float32[N,2,2,2], float32[N,2,4]",
     .attrs = "q_num_heads=2, kv_num_heads=2, update_rule=\"gated\", scale=0.5",
     .n = 2},
    {.inputs = "float32[N,2,4], float32[N,2,4], float32[N,2,6], float32[N,2,2,3], , float32[N,2,1]",
     .attrs = "q_num_heads=2, kv_num_heads=2, update_rule=\"delta\"",
     .n = 2},
    {.inputs = "float32[N,1,4], float32[N,1,2], float32[N,1,3]",
     .attrs = "q_num_heads=2, kv_num_heads=1, update_rule=\"linear\"",
     .n = 2},
    {.inputs = "float16[N,2,4], float16[N,2,2], float16[N,2,2]",
     .attrs = "q_num_heads=2, kv_num_heads=1, update_rule=\"linear\"",
     .n = 2},
    {0},
};

const dp_op dp_op_LinearAttention = {
    .name = "LinearAttention",
    .domain = "",
    .n_inputs = 6,
    .n_outputs = 2,
    .inputs = {DP_OPERAND("query", DP_FLOATS, 'T'), DP_OPERAND("key", DP_FLOATS, 'T'),
               DP_OPERAND("value", DP_FLOATS, 'T'), DP_OPTIONAL("past_state", DP_FLOATS, 'S'),
               DP_OPTIONAL("decay", DP_FLOATS, 'T'), DP_OPTIONAL("beta", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 'T'), DP_OPTIONAL("present_state", DP_FLOATS, 0)},
    .attrs = {DP_INT_ATTR("chunk_size", 64),  // says how others may compute it
              {.name = "kv_num_heads", .kind = DP_ATTR_INT, .required = true},
              {.name = "q_num_heads", .kind = DP_ATTR_INT, .required = true},
              DP_FLOAT_ATTR("scale", 0),
              DP_STRING_ATTR("update_rule", "gated_delta")},
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
