// Einsum {equation}: products of the operands' elements, summed over the labels that the result lacks. Labels are
// letters; "..." stands for dims that broadcast. Without "->" the result has the dims of "...", then the labels that
// occur once, in alphabetical order. A label twice in a term is a diagonal. Specialized into MatMul, Mul and ReduceSum,
// two operands at a time from the left.
#include "ir/ops/compose.h"
#include "ir/ops/equation.h"

static dp_status infer(dp_node *node) {
  dp_equation e;
  DP_TRY(dp_equation_read(node, &e));
  dp_shape y = {.rank = e.result.count};
  for (int d = 0; d < y.rank; d++) y.dims[d] = e.extents[e.result.labels[d]];
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

// ---- putting it together --------------------------------------------------------------------------------------------

typedef struct {
  dp_value *x;
  dp_equation_term t;  // the labels of its dims, each once
} labelled;

static int position_of(const dp_equation_term *t, int label) {
  for (int d = 0; d < t->count; d++)
    if (t->labels[d] == label) return d;
  return -1;
}

static labelled reduce(dp_builder *b, labelled a, const bool *drop) {
  int64_t axes[DP_MAX_RANK];
  size_t n_axes = 0;
  dp_equation_term kept = {0};
  for (int d = 0; d < a.t.count; d++) {
    if (drop[d])
      axes[n_axes++] = d;
    else
      kept.labels[kept.count++] = a.t.labels[d];
  }
  return (labelled){dp_build_reduce(b, "ReduceSum", a.x, axes, n_axes, false), kept};
}

// Labels in the order of `order`; those that it lacks come last.
static labelled arrange(dp_builder *b, labelled a, const dp_equation_term *order) {
  int64_t perm[DP_MAX_RANK];
  dp_equation_term t = {0};
  bool same = true;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < (pass ? a.t.count : order->count); i++) {
      int label = pass ? a.t.labels[i] : order->labels[i], d = position_of(&a.t, label);
      if (d < 0 || (pass && position_of(order, label) >= 0)) continue;
      same &= d == t.count;
      perm[t.count] = d;
      t.labels[t.count++] = label;
    }
  return (labelled){same ? a.x : dp_compose_transpose(b, a.x, perm), t};
}

// The diagonal of dims `first` and `second`, as the last dim.
static labelled diagonal(dp_builder *b, labelled a, int first, int second) {
  int64_t perm[DP_MAX_RANK], n = a.x->type->shape.dims[first].offset;
  dp_equation_term t = {0};
  for (int d = 0; d < a.t.count; d++) {
    if (d == first || d == second) continue;
    perm[t.count] = d;
    t.labels[t.count++] = a.t.labels[d];
  }
  perm[t.count] = first;
  perm[t.count + 1] = second;
  dp_value *pairs = dp_compose_merge(b, dp_compose_transpose(b, a.x, perm), t.count, t.count + 2);
  dp_value *equal = dp_compose_range(b, DP_INT64, 0, (double)n + 1, n);
  dp_value *x = dp_compose_gather(b, pairs, equal, t.count);
  t.labels[t.count++] = a.t.labels[first];
  return (labelled){x, t};
}

// The operand with each label once, and without dims of extent 1 that are longer elsewhere.
static labelled prepare(dp_builder *b, const dp_equation *e, dp_value *x, dp_equation_term t) {
  labelled whole = {x, t}, a = {0};
  for (int d = 1; d < whole.t.count; d++) {
    int first = position_of(&whole.t, whole.t.labels[d]);
    if (first == d) continue;
    whole = diagonal(b, whole, first, d);
    d = 0;
  }
  dp_shape shape = {0};
  const dp_dim *dims = whole.x->type->shape.dims;
  for (int d = 0; d < whole.t.count; d++) {
    if (dp_dim_is(dims[d], 1) && !dp_dim_is(e->extents[whole.t.labels[d]], 1)) continue;
    shape.dims[shape.rank++] = dims[d];
    a.t.labels[a.t.count++] = whole.t.labels[d];
  }
  a.x = dp_build_reshape(b, whole.x, &shape);
  return a;
}

// x in the shape [labels of order; 1 where it lacks one].
static dp_value *spread(dp_builder *b, const dp_equation *e, labelled a, const dp_equation_term *order) {
  dp_shape shape = {.rank = order->count};
  for (int d = 0; d < order->count; d++)
    shape.dims[d] = position_of(&a.t, order->labels[d]) >= 0 ? e->extents[order->labels[d]] : dp_dim_of(1);
  return dp_build_reshape(b, arrange(b, a, order).x, &shape);
}

static void append(dp_equation_term *to, const dp_equation_term *from) {
  for (int d = 0; d < from->count && to->count < DP_MAX_RANK; d++) to->labels[to->count++] = from->labels[d];
}

static labelled refuse(dp_builder *b, labelled x) {
  if (!b->status)
    b->status = dp_fail(EX_UNAVAILABLE,
                        "Einsum: a product of more than %d dims, or of extents that are not of the form "
                        "a * N + b",
                        DP_MAX_RANK);
  return x;
}

// x [batch, left, summed] times y [batch, summed, right], as matrices.
static labelled multiply(dp_builder *b, const dp_equation *e, labelled x, labelled y, int batch, int summed,
                         const dp_equation_term *out) {
  const dp_shape *xs = &x.x->type->shape, *ys = &y.x->type->shape;
  dp_shape rules = {.rank = batch + 2}, columns = rules, shape = {.rank = out->count};
  int left = xs->rank - batch - summed;
  if (b->status || rules.rank > DP_MAX_RANK) return refuse(b, x);
  for (int d = 0; d < batch; d++) rules.dims[d] = columns.dims[d] = xs->dims[d];
  if (!dp_shape_product(xs, batch, batch + left, &rules.dims[batch]) ||
      !dp_shape_product(xs, batch + left, xs->rank, &rules.dims[batch + 1]) ||
      !dp_shape_product(ys, batch + summed, ys->rank, &columns.dims[batch + 1]))
    return refuse(b, x);
  columns.dims[batch] = rules.dims[batch + 1];
  for (int d = 0; d < out->count; d++) shape.dims[d] = e->extents[out->labels[d]];
  dp_value *product = dp_build2(b, "MatMul", dp_build_reshape(b, x.x, &rules), dp_build_reshape(b, y.x, &columns));
  return (labelled){dp_build_reshape(b, product, &shape), *out};
}

// Without the labels that neither y nor the rest of the equation has.
static labelled trim(dp_builder *b, labelled x, const labelled *y, const bool *needed) {
  bool drop[DP_MAX_RANK];
  for (int d = 0; d < x.t.count; d++) drop[d] = !needed[x.t.labels[d]] && position_of(&y->t, x.t.labels[d]) < 0;
  return reduce(b, x, drop);
}

// The product of both, without the labels that `needed` lacks.
static labelled contract(dp_builder *b, const dp_equation *e, labelled x, labelled y, const bool *needed) {
  dp_equation_term batch = {0}, summed = {0}, left = {0}, right = {0};
  x = trim(b, x, &y, needed);
  y = trim(b, y, &x, needed);
  for (int d = 0; d < x.t.count; d++) {
    int label = x.t.labels[d];
    dp_equation_term *to = position_of(&y.t, label) < 0 ? &left : needed[label] ? &batch : &summed;
    to->labels[to->count++] = label;
  }
  for (int d = 0; d < y.t.count; d++)
    if (position_of(&x.t, y.t.labels[d]) < 0) right.labels[right.count++] = y.t.labels[d];
  if (batch.count + left.count + right.count > DP_MAX_RANK) return refuse(b, x);
  dp_equation_term out = batch, before = batch, after = batch;
  append(&out, &left), append(&out, &right);
  if (!summed.count) return (labelled){dp_build2(b, "Mul", spread(b, e, x, &out), spread(b, e, y, &out)), out};
  append(&before, &left), append(&before, &summed);
  append(&after, &summed), append(&after, &right);
  return multiply(b, e, arrange(b, x, &before), arrange(b, y, &after), batch.count, summed.count, &out);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  dp_equation e;
  dp_status status = dp_equation_read(node, &e);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  labelled x = prepare(b, &e, in[0], e.terms[0]);
  for (int i = 1; i < e.n_terms; i++) {
    bool needed[DP_EQUATION_LABELS] = {0};
    for (int k = i + 1; k < e.n_terms; k++)
      for (int d = 0; d < e.terms[k].count; d++) needed[e.terms[k].labels[d]] = true;
    for (int d = 0; d < e.result.count; d++) needed[e.result.labels[d]] = true;
    x = contract(b, &e, x, prepare(b, &e, in[i], e.terms[i]), needed);
  }
  bool drop[DP_MAX_RANK];
  for (int d = 0; d < x.t.count; d++) drop[d] = position_of(&e.result, x.t.labels[d]) < 0;
  x = arrange(b, reduce(b, x, drop), &e.result);
  out[0] = dp_build1(b, "Identity", x.x);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[3,4]", .attrs = "equation=\"ij,jk->ik\"", .n = 4},
    {.inputs = "float32[N,2,3], float32[N,3,2]", .attrs = "equation=\"bij , bjk -> kbi\"", .n = 3},
    {.inputs = "float32[2,N,3,4], float32[N,4,2]", .attrs = "equation=\"...ij,...jk\"", .n = 3},
    {.inputs = "float32[N,3,3]", .attrs = "equation=\"...ii->...i\"", .n = 3},
    {.inputs = "float32[3,N,3,2,3]", .attrs = "equation=\"ibiji->jb\"", .n = 2},
    {.inputs = "float32[N,3], float32[N]", .attrs = "equation=\"zb,z\"", .n = 4},
    {.inputs = "float32[4], float32[4]", .attrs = "equation=\"i,i\""},
    {.inputs = "float32[N,3], float32[2], float32[3,2]", .attrs = "equation=\"ij,k,jk->ki\"", .n = 3},
    {.inputs = "float32[N,1,2], float32[1,3,2]", .attrs = "equation=\"abc,abc->ab\"", .n = 3},
    {.inputs = "float32[N,3], float32[]", .attrs = "equation=\"ij,->ji\"", .n = 3},
    {0},
};

const dp_op dp_op_Einsum = {
    .name = "Einsum",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .variadic = true,
    .inputs = {DP_OPERAND("Inputs", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Output", DP_FLOATS, 'T')},
    .attrs = {{.name = "equation", .kind = DP_ATTR_STRING, .required = true}},
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
