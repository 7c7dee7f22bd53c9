// ai.onnx.preview.FlexAttention(Q, K, V): softmax(Q K' scale) V, modified by two graphs of the node: score_mod changes
// the scores, prob_mod the probabilities. Q is [batch, q_heads, length, size], K and V [batch, heads, positions, size];
// each head of K and V serves q_heads / heads adjacent heads of Q.
#include <math.h>
#include <string.h>

#include "frontends/onnx/onnx_reader.h"
#include "ir/ops/compose.h"

typedef struct {
  dp_onnx_reader *reader;
  dp_onnx_scope *scope;
  const Dp__Onnx__Node *m;
  dp_builder builder;
  dp_value *q, *k, *v;
  dp_dtype computed;  // type of scores and probabilities
} call;

static dp_status check(const call *c) {
  const dp_shape *q = &c->q->type->shape, *k = &c->k->type->shape, *v = &c->v->type->shape;
  char texts[3][256];
  bool fits = q->rank == 4 && k->rank == 4 && v->rank == 4;
  if (fits) {
    int64_t heads = dp_compose_fixed(q->dims[1]), shared = dp_compose_fixed(k->dims[1]);
    fits = shared > 0 && heads > 0 && heads % shared == 0 && dp_compose_fixed(q->dims[3]) > 0 &&
           dp_dim_equal(k->dims[1], v->dims[1]) && dp_dim_equal(k->dims[2], v->dims[2]) &&
           dp_dim_equal(q->dims[3], k->dims[3]) && dp_dim_equal(q->dims[0], k->dims[0]) &&
           dp_dim_equal(q->dims[0], v->dims[0]);
  }
  if (!fits)
    return dp_fail(
        EX_DATAERR,
        "Q, K, V have shapes %s, %s, %s where [batch, q_heads, length, size] and twice [batch, heads, places, "
        "size] are expected, q_heads a multiple of heads",
        dp_shape_print(q, texts[0], sizeof texts[0]), dp_shape_print(k, texts[1], sizeof texts[1]),
        dp_shape_print(v, texts[2], sizeof texts[2]));
  if (c->q->type->dtype != c->k->type->dtype || c->q->type->dtype != c->v->type->dtype ||
      !dp_type_is_float(c->q->type->dtype) || !dp_type_is_float(c->computed))
    return dp_fail(EX_DATAERR, "Q, K, V and softmax_precision are not floats, or Q, K and V not of one type");
  return DP_OK;
}

static dp_status find(call *c) {
  dp_value **values[] = {&c->q, &c->k, &c->v};
  if (c->m->n_input != 3 || c->m->n_output != 1)
    return dp_fail(EX_DATAERR, "three operands and one result are expected");
  for (size_t i = 0; i < 3; i++) {
    dp_onnx_binding *x;
    DP_TRY(dp_onnx_scope_find_tensor(c->scope, c->m->input[i], &x));
    if (!x) return dp_fail(EX_DATAERR, "operand %zu is missing", i + 1);
    DP_TRY(dp_onnx_scope_value(c->reader, x, values[i]));
  }
  c->computed = c->q->type->dtype == DP_FLOAT64 ? DP_FLOAT64 : DP_FLOAT32;
  if (dp_onnx_attr_find(c->m, "softmax_precision"))
    DP_TRY(dp_onnx_tensor_dtype((int32_t)dp_onnx_attr_int(c->m, "softmax_precision", 0), "softmax_precision",
                                &c->computed));
  return check(c);
}

// Applies the node's graph of that name to *x, if it has one.
static dp_status modify(call *c, const char *name, dp_value **x) {
  const Dp__Onnx__Graph *graph = NULL;
  DP_TRY(c->builder.status);
  if (!dp_onnx_attr_find(c->m, name)) return DP_OK;
  DP_TRY(dp_onnx_control_graph(c->m, name, &graph));
  if (graph->n_output != 1) return dp_fail(EX_DATAERR, "its graph '%s' has %zu results, not 1", name, graph->n_output);
  dp_onnx_binding given = {.name = (*x)->name, .value = *x}, *result = NULL;
  dp_onnx_binding *input = dp_memdup(c->reader->arena, &given, sizeof given);
  const dp_type *type = (*x)->type;
  DP_TRY(dp_onnx_control_run(c->reader, c->scope, c->m, graph, name, 1, &input, &result));
  if (result->sequence) return dp_fail(EX_DATAERR, "its graph '%s' makes a sequence", name);
  DP_TRY(dp_onnx_scope_value(c->reader, result, x));
  if (dp_type_equal((*x)->type, type)) return DP_OK;
  char made[256], wanted[256];
  return dp_fail(EX_DATAERR, "its graph '%s' makes %s of %s; type and shape must stay", name,
                 dp_type_print((*x)->type, made, sizeof made), dp_type_print(type, wanted, sizeof wanted));
}

// [batch, heads, ..] as [batch, groups, heads / groups, ..].
static dp_value *grouped(call *c, dp_value *x, dp_dim groups) {
  const dp_shape *shape = &x->type->shape;
  if (c->builder.status) return x;
  dp_shape seen = {
      5, {shape->dims[0], groups, dp_dim_of(shape->dims[1].offset / groups.offset), shape->dims[2], shape->dims[3]}};
  return dp_build_reshape(&c->builder, x, &seen);
}

static dp_value *product(call *c, dp_value *x, dp_value *y, dp_dim groups, const dp_shape *made) {
  dp_value *z = dp_build2(&c->builder, "MatMul", grouped(c, x, groups), grouped(c, y, groups));
  return dp_build_reshape(&c->builder, z, made);
}

dp_status dp_onnx_flex_attention(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m, bool *done) {
  call c = {reader, scope, m, {.graph = reader->graph, .prefix = dp_onnx_name(reader, scope, m)}, NULL, NULL, NULL, 0};
  DP_TRY(find(&c));
  dp_builder *b = &c.builder;
  const dp_shape *q = &c.q->type->shape, *k = &c.k->type->shape, *v = &c.v->type->shape;
  dp_shape scores = {4, {q->dims[0], q->dims[1], q->dims[2], k->dims[2]}};
  dp_shape result = {4, {q->dims[0], q->dims[1], q->dims[2], v->dims[3]}};
  const Dp__Onnx__Attribute *given = dp_onnx_attr_find(m, "scale");
  double scale = given ? dp_onnx_attr_widen(given->f) : 1 / sqrt((double)q->dims[3].offset);
  if (!(scale >= 0)) return dp_fail(EX_DATAERR, "scale is %g where 0 or more is expected", scale);
  // Each side gets the square root of the scale, as ONNX defines, so that 16-bit types overflow less.
  dp_value *half = dp_build_fill(b, c.q->type->dtype, sqrt(scale));
  dp_value *turned = dp_compose_swap(b, dp_build2(b, "Mul", c.k, half), 2, 3);
  dp_value *x = product(&c, dp_build2(b, "Mul", c.q, half), turned, k->dims[1], &scores);
  x = dp_build_cast(b, x, c.computed);
  DP_TRY(modify(&c, "score_mod", &x));
  dp_attr axis = dp_attr_int("axis", -1);
  x = dp_build(b, "Softmax", 1, &x, 1, 1, &axis);
  DP_TRY(modify(&c, "prob_mod", &x));
  dp_value *y = product(&c, x, dp_build_cast(b, c.v, c.computed), k->dims[1], &result);
  y = dp_build_cast(b, y, c.q->type->dtype);
  DP_TRY(b->status);
  *done = true;
  return dp_onnx_scope_bind(reader, scope, m->output[0], (dp_onnx_binding){.value = y});
}
