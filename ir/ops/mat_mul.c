// MatMul, as numpy.matmul: the last two dims are matrices, the others are broadcast; a vector is a row on the left, a
// column on the right, and its dim is dropped from the result.
#include "ir/ops/common.h"

// Indices of the extents in an operand's dims; -1: absent (a vector).
typedef struct {
  int a_m, a_k, b_k, b_n;
} matrix_dims;

static matrix_dims matrix_dims_of(const dp_shape *a, const dp_shape *b) {
  return (matrix_dims){a->rank > 1 ? a->rank - 2 : -1, a->rank - 1, b->rank > 1 ? b->rank - 2 : 0,
                       b->rank > 1 ? b->rank - 1 : -1};
}

static dp_shape batch_of(const dp_shape *x) {
  dp_shape batch = *x;
  batch.rank = x->rank > 2 ? x->rank - 2 : 0;
  return batch;
}

static dp_status infer(dp_node *node) {
  const dp_shape *a = dp_common_shape(node, 0), *b = dp_common_shape(node, 1);
  if (!a->rank || !b->rank) return dp_fail(EX_DATAERR, "a scalar was given where a vector or matrix is expected");
  matrix_dims p = matrix_dims_of(a, b);
  char ta[256], tb[256];
  if (!dp_dim_equal(a->dims[p.a_k], b->dims[p.b_k]))
    return dp_fail(EX_DATAERR, "A has shape %s and B has shape %s: the inner extents differ",
                   dp_shape_print(a, ta, sizeof ta), dp_shape_print(b, tb, sizeof tb));
  dp_shape batch_a = batch_of(a), batch_b = batch_of(b), y;
  DP_TRY(dp_shape_broadcast(&batch_a, &batch_b, &y));
  if (p.a_m >= 0) y.dims[y.rank++] = a->dims[p.a_m];
  if (p.b_n >= 0) y.dims[y.rank++] = b->dims[p.b_n];
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static dp_value *gemm(dp_builder *b, dp_value *x, bool trans_x, dp_value *y, bool trans_y) {
  dp_value *matrices[] = {dp_common_matrix(x, &trans_x), dp_common_matrix(y, &trans_y)};
  dp_attr attrs[2];
  int n_attrs = 0;
  if (trans_x) attrs[n_attrs++] = dp_attr_int("transA", 1);
  if (trans_y) attrs[n_attrs++] = dp_attr_int("transB", 1);
  return dp_build(b, "Gemm", 2, matrices, 1, n_attrs, attrs);
}

static dp_value *transposed(dp_builder *b, dp_value *x) {
  int64_t perm[DP_MAX_RANK];
  int rank = x->type->shape.rank;
  for (int i = 0; i < rank; i++) perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
  dp_attr attr = dp_attr_ints(b->graph->arena, "perm", perm, (size_t)rank);
  return dp_build(b, "Transpose", 1, &x, 1, 1, &attr);
}

// Several matrices times one: all rows in one product, so that the weight's gradient is one product too.
static bool flat_gradient(dp_builder *b, const dp_node *node, dp_value *dy, dp_value **dx) {
  const dp_shape *x = dp_common_shape(node, 0), *w = dp_common_shape(node, 1), *y = &dy->type->shape;
  dp_shape sharding_x = {.rank = 2}, sharding_y = {.rank = 2};
  if (w->rank != 2 || x->rank < 2 || !dp_shape_product(x, 0, x->rank - 1, &sharding_x.dims[0])) return false;
  sharding_y.dims[0] = sharding_x.dims[0];
  sharding_x.dims[1] = x->dims[x->rank - 1];
  sharding_y.dims[1] = y->dims[y->rank - 1];
  dp_value *flat_x = dp_build_reshape(b, node->inputs[0], &sharding_x), *flat_dy = dp_build_reshape(b, dy, &sharding_y);
  dx[0] = dp_build_reshape(b, gemm(b, flat_dy, false, node->inputs[1], true), x);
  dx[1] = gemm(b, flat_x, true, flat_dy, false);
  return true;
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dys, dp_value **dx) {
  if (flat_gradient(b, node, dys[0], dx)) return;
  const dp_shape *sa = dp_common_shape(node, 0), *sb = dp_common_shape(node, 1);
  // Vectors become matrices, here and in dy.
  dp_dim one = dp_dim_of(1);
  dp_shape ma = *sa, mb = *sb, my = dys[0]->type->shape;
  if (sa->rank == 1) ma = (dp_shape){.rank = 2, .dims = {one, sa->dims[0]}};
  if (sb->rank == 1) mb = (dp_shape){.rank = 2, .dims = {sb->dims[0], one}};
  my.rank -= (sa->rank > 1) + (sb->rank > 1);
  my.dims[my.rank++] = ma.dims[ma.rank - 2];
  my.dims[my.rank++] = mb.dims[mb.rank - 1];
  dp_value *x = dp_build_reshape(b, node->inputs[0], &ma), *w = dp_build_reshape(b, node->inputs[1], &mb);
  dp_value *dy = dp_build_reshape(b, dys[0], &my);
  dp_value *da = dp_build_reduce_to(b, dp_build2(b, "MatMul", dy, transposed(b, w)), &ma);
  dp_value *db = dp_build_reduce_to(b, dp_build2(b, "MatMul", transposed(b, x), dy), &mb);
  dx[0] = dp_build_reshape(b, da, sa);
  dx[1] = dp_build_reshape(b, db, sb);
}

static void placements(dp_sharding_rules *rules) {
  const dp_node *node = rules->node;
  const dp_shape *a = dp_common_shape(node, 0), *b = dp_common_shape(node, 1), *y = &node->outputs[0]->type->shape;
  matrix_dims p = matrix_dims_of(a, b);
  int batch = y->rank - (p.a_m >= 0) - (p.b_n >= 0);
  for (int d = 0; d < batch; d++) {
    int in_a = d - (batch - batch_of(a).rank), in_b = d - (batch - batch_of(b).rank);
    if (in_a >= 0 && !dp_dim_equal(a->dims[in_a], y->dims[d])) in_a = DP_WHOLE;
    if (in_b >= 0 && !dp_dim_equal(b->dims[in_b], y->dims[d])) in_b = DP_WHOLE;
    dp_sharding_split(rules, y->dims[d], (int[]){in_a < 0 ? DP_WHOLE : in_a, in_b < 0 ? DP_WHOLE : in_b}, &d);
  }
  if (p.a_m >= 0) dp_sharding_split(rules, a->dims[p.a_m], (int[]){p.a_m, DP_WHOLE}, &batch);
  int last = y->rank - 1;
  if (p.b_n >= 0) dp_sharding_split(rules, b->dims[p.b_n], (int[]){DP_WHOLE, p.b_n}, &last);
  dp_sharding_split(rules, a->dims[p.a_k], (int[]){p.a_k, p.b_k}, (int[]){DP_SUMMED});
  dp_sharding_linear(rules, 1);
  dp_sharding_linear(rules, 2);
}

static dp_cost cost(const dp_node *node, int64_t n) {
  const dp_shape *a = dp_common_shape(node, 0);
  double k = (double)dp_dim_at(a->dims[a->rank - 1], n);
  return dp_common_cost(node, n, 2 * k * (double)dp_shape_count(&node->outputs[0]->type->shape, n));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,4], float32[4,3]", .n = 5},
    {.inputs = "float32[N,3,4], float32[4,2]", .n = 6},
    {.inputs = "float32[N,1,3,4], float32[2,4,3]", .n = 2},
    {.inputs = "float32[3,4], float32[N,4,2]", .n = 3},
    {.inputs = "float32[4], float32[4,3]"},
    {.inputs = "float32[N,3,4], float32[4]", .n = 5},
    {.inputs = "float32[4], float32[N,4,3]", .n = 5},
    {.inputs = "float32[6], float32[6]"},
    {.inputs = "int32[N,4], int32[4,3]", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[2,N,3], int64[3,2]", .n = 2, .low = -9, .high = 9},
    {0},
};

#define TYPES (DP_FLOATS | DP_BIT(DP_INT32) | DP_BIT(DP_INT64) | DP_BIT(DP_UINT32) | DP_BIT(DP_UINT64))

const dp_op dp_op_MatMul = {
    .name = "MatMul",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("A", TYPES, 'T'), DP_OPERAND("B", TYPES, 'T')},
    .outputs = {DP_OPERAND("Y", TYPES, 'T')},
    .flags = DP_OP_PRODUCT,
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .cost = cost,
    .samples = samples,
};
