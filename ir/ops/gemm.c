// Gemm: Y = alpha op(A) op(B) + beta C, where op is a transposition or nothing; C is broadcast to Y's shape and may be
// omitted.
//
// Rows by m, n and k. Split by k, each part yields Partial(sum), and C must be Partial too; `decompose` separates a
// whole C.
#include <math.h>

#include "ir/ops/common.h"

typedef struct {
  bool a, b;  // transposed
  dp_dim m, n, k;
} extents;

static extents extents_of(const dp_node *node) {
  extents e = {.a = dp_node_int(node, "transA", 0) != 0, .b = dp_node_int(node, "transB", 0) != 0};
  const dp_shape *a = dp_common_shape(node, 0), *b = dp_common_shape(node, 1);
  e.m = a->dims[e.a];
  e.k = a->dims[!e.a];
  e.n = b->dims[!e.b];
  return e;
}

// Integers are multiplied by whole numbers only, so that sums of parts give the sum.
static dp_status check_factors(const dp_node *node) {
  static const char *const names[] = {"alpha", "beta"};
  for (int i = 0; i < 2 && !dp_type_is_float(node->inputs[0]->type->dtype); i++) {
    double factor = dp_node_float(node, names[i], 1);
    if (!(factor == trunc(factor) && fabs(factor) <= INT32_MAX))
      return dp_fail(EX_DATAERR, "%s is %g where the operands are integers: a whole number of 32 bits is expected",
                     names[i], factor);
  }
  return DP_OK;
}

static dp_status infer(dp_node *node) {
  const dp_shape *a = dp_common_shape(node, 0), *b = dp_common_shape(node, 1);
  char ta[256], tb[256];
  if (a->rank != 2 || b->rank != 2)
    return dp_fail(EX_DATAERR, "A has shape %s and B has shape %s; two matrices are expected",
                   dp_shape_print(a, ta, sizeof ta), dp_shape_print(b, tb, sizeof tb));
  DP_TRY(check_factors(node));
  extents e = extents_of(node);
  if (!dp_dim_equal(e.k, b->dims[e.b]))
    return dp_fail(EX_DATAERR, "A%s has shape %s and B%s has shape %s: the inner extents differ",
                   e.a ? " (to be transposed)" : "", dp_shape_print(a, ta, sizeof ta), e.b ? " (to be transposed)" : "",
                   dp_shape_print(b, tb, sizeof tb));
  dp_shape y = {.rank = 2, .dims = {e.m, e.n}}, both;
  if (dp_common_operand(node, 2)) {
    const dp_shape *c = dp_common_shape(node, 2);
    DP_TRY(dp_shape_broadcast(c, &y, &both));
    DP_TRY(dp_status_context(dp_common_expect("the product plus C", &both, &y), "C cannot be larger than the product"));
  }
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static dp_value *product(dp_builder *b, dp_value *x, dp_value *y, bool trans_x, bool trans_y, double alpha) {
  dp_attr attrs[] = {dp_attr_int("transA", trans_x), dp_attr_int("transB", trans_y), dp_attr_float("alpha", alpha)};
  return dp_build(b, "Gemm", 2, (dp_value *[]){x, y}, 1, alpha == 1 ? 2 : 3, attrs);
}

static dp_value *scaled(dp_builder *b, dp_value *x, double by) {
  return by == 1 ? x : dp_build2(b, "Mul", x, dp_build_fill(b, x->type->dtype, by));
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  extents e = extents_of(node);
  bool trans_x = e.a, trans_w = e.b;
  dp_value *x = dp_common_matrix(node->inputs[0], &trans_x), *w = dp_common_matrix(node->inputs[1], &trans_w);
  double alpha = dp_node_float(node, "alpha", 1), beta = dp_node_float(node, "beta", 1);
  // With Y = A B: dA = dY B', dB = A' dY, and their transposes.
  dx[0] = e.a ? product(b, w, dy[0], trans_w, true, alpha) : product(b, dy[0], w, false, !trans_w, alpha);
  dx[1] = e.b ? product(b, dy[0], x, true, trans_x, alpha) : product(b, x, dy[0], !trans_x, false, alpha);
  if (dp_common_operand(node, 2)) dx[2] = scaled(b, dp_build_reduce_to(b, dy[0], dp_common_shape(node, 2)), beta);
}

// C's dim along dim d of Y; DP_WHOLE when C is broadcast there.
static int along(const dp_node *node, int d) {
  if (!dp_common_operand(node, 2)) return DP_WHOLE;
  const dp_shape *c = dp_common_shape(node, 2);
  int own = d - (2 - c->rank);
  return own >= 0 && dp_dim_equal(c->dims[own], node->outputs[0]->type->shape.dims[d]) ? own : DP_WHOLE;
}

static void placements(dp_sharding_rules *rules) {
  const dp_node *node = rules->node;
  extents e = extents_of(node);
  unsigned c = dp_common_operand(node, 2) ? 4 : 0;
  dp_sharding_split(rules, e.m, (int[]){e.a, DP_WHOLE, along(node, 0)}, (int[]){0});
  dp_sharding_split(rules, e.n, (int[]){DP_WHOLE, !e.b, along(node, 1)}, (int[]){1});
  dp_sharding_split(rules, e.k, (int[]){!e.a, e.b, DP_SUMMED}, (int[]){DP_SUMMED});
  dp_sharding_linear(rules, 1 | c);
  dp_sharding_linear(rules, 2 | c);
}

// With C: the product, then the sum. Without: transpositions and MatMul.
static void decompose(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  extents e = extents_of(node);
  double alpha = dp_node_float(node, "alpha", 1), beta = dp_node_float(node, "beta", 1);
  if (node->n_inputs > 2 && in[2]) {
    out[0] = dp_build2(b, "Add", product(b, in[0], in[1], e.a, e.b, alpha), scaled(b, in[2], beta));
    return;
  }
  dp_value *x = e.a ? dp_build1(b, "Transpose", in[0]) : in[0], *w = e.b ? dp_build1(b, "Transpose", in[1]) : in[1];
  out[0] = scaled(b, dp_build2(b, "MatMul", x, w), alpha);
}

static dp_cost cost(const dp_node *node, int64_t n) {
  extents e = extents_of(node);
  return dp_common_cost(node, n,
                        2.0 * (double)dp_dim_at(e.m, n) * (double)dp_dim_at(e.n, n) * (double)dp_dim_at(e.k, n));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,4], float32[4,3], float32[3]", .n = 5},
    {.inputs = "float32[N,4], float32[3,4], float32[3]", .attrs = "transB=1", .n = 7},
    {.inputs = "float32[4,N], float32[4,3], float32[N,1]", .attrs = "transA=1, alpha=0.5", .n = 5},
    {.inputs = "float32[4,6], float32[3,4], float32[6,3]", .attrs = "transA=1, transB=1, alpha=0.5, beta=-2.0"},
    {.inputs = "float32[N,4], float32[4,3]", .n = 5},
    {.inputs = "float32[4,N], float32[N,3]", .attrs = "alpha=0.25", .n = 6},
    {.inputs = "float32[N,2], float32[2,3], float32[]", .attrs = "beta=0.5", .n = 3},
    {.inputs = "float32[N,2], float32[2,3], float32[1,3]", .n = 3},
    {.inputs = "int32[N,4], int32[3,4], int32[3]",
     .attrs = "transB=1, alpha=2.0, beta=-3.0",
     .n = 3,
     .low = -9,
     .high = 9},
    {.inputs = "int64[4,N], int64[4,3], int64[N,1]", .attrs = "transA=1", .n = 2, .low = -9, .high = 9},
    {0},
};

#define TYPES (DP_FLOATS | DP_BIT(DP_INT32) | DP_BIT(DP_INT64) | DP_BIT(DP_UINT32) | DP_BIT(DP_UINT64))

const dp_op dp_op_Gemm = {
    .name = "Gemm",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("A", TYPES, 'T'), DP_OPERAND("B", TYPES, 'T'), DP_OPTIONAL("C", TYPES, 'T')},
    .outputs = {DP_OPERAND("Y", TYPES, 'T')},
    .attrs = {DP_FLOAT_ATTR("alpha", 1), DP_FLOAT_ATTR("beta", 1), DP_INT_ATTR("transA", 0), DP_INT_ATTR("transB", 0)},
    .flags = DP_OP_PRODUCT,
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .decompose = decompose,
    .cost = cost,
    .samples = samples,
};
