// dp.ScaledDotProductAttention(Q, K, V [, mask, seed, step]) -> Y [, LSE]: attention without its scores, which no
// memory holds (scaled_dot_product.h). The pass `attention` finds it in graphs that write it out.
//
// Dao, Fu, Ermon, Rudra, Re: "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness", NeurIPS
// 2022: with the statistics LSE, the gradient computes P again.
#include <string.h>

#include "ir/ops/compose.h"
#include "ir/ops/scaled_dot_product.h"

enum { Q, K, V, MASK, SEED, STEP, OPERANDS };
enum { Y, LSE, RESULTS };

static const dp_scaled_dot_product_part operands[] = {DP_SDP_QUERY, DP_SDP_KEY,    DP_SDP_VALUE,
                                                      DP_SDP_MASK,  DP_SDP_SCALAR, DP_SDP_SCALAR};
static const dp_scaled_dot_product_part results[] = {DP_SDP_RESULT, DP_SDP_STATISTICS};

static dp_status infer(dp_node *node) {
  dp_scaled_dot_product e;
  dp_dtype dtype = node->inputs[Q]->type->dtype;
  DP_TRY(dp_scaled_dot_product_check(node, Q, MASK, &e));
  dp_shape y = {4, {e.batch, e.length, e.heads, e.v_size}}, statistics = dp_scaled_dot_product_statistics(&e);
  dp_common_set(node, Y, dtype, &y);
  dp_common_set(node, LSE, dp_scaled_dot_product_statistics_type(dtype), &statistics);
  return DP_OK;
}

static dp_value *add(dp_builder *b, dp_value *x, dp_value *y) { return x ? dp_build2(b, "Add", x, y) : y; }

// Adds to dx what the gradient's node gives for these operands of it, but returns its dV.
static dp_value *add_gradients(dp_builder *b, dp_value *const in[9], int n_attrs, const dp_attr *attrs, dp_value **dx) {
  bool mask = in[6] && dp_type_is_float(in[6]->type->dtype);
  dp_value *dq = dp_build(b, DP_SCALED_DOT_PRODUCT_GRAD, 9, in, mask ? 4 : 3, n_attrs, attrs);
  if (b->status) return NULL;
  for (int i = Q; i <= K; i++) dx[i] = add(b, dx[i], dq->producer->outputs[i]);
  if (mask) {
    dp_value *dmask = dp_build_reduce_to(b, dq->producer->outputs[MASK], &in[6]->type->shape);
    dx[MASK] = add(b, dx[MASK], dp_build_cast(b, dmask, in[6]->type->dtype));
  }
  return dq->producer->outputs[V];
}

// The gradient that reaches LSE goes into dS = P dLSE. The gradient's node gives that for V = 0 and sum(dY Y) = -dLSE,
// without dropout.
static void add_statistics(dp_builder *b, const dp_node *node, dp_value *lse, dp_value *dlse, dp_value **dx) {
  dp_value *const *x = node->inputs;
  dp_dtype dtype = x[Q]->type->dtype;
  dp_shape ones = x[Q]->type->shape, zeros = x[K]->type->shape;
  ones.dims[3] = zeros.dims[3] = dp_dim_of(1);
  dp_value *y = dp_compose_unsqueeze(b, dp_compose_swap(b, dp_build1(b, "Neg", dlse), 1, 2), 3);
  dp_value *in[9] = {dp_compose_filled(b, dtype, &ones, 1),
                     x[Q],
                     x[K],
                     dp_compose_filled(b, dtype, &zeros, 0),
                     dp_build_cast(b, y, dtype),
                     lse,
                     dp_common_operand(node, MASK)};
  dp_attr attrs[DP_MAX_ATTRS];
  int count = 0;
  for (int i = 0; i < node->n_attrs; i++)
    if (strcmp(node->attrs[i].name, "ratio")) attrs[count++] = node->attrs[i];
  add_gradients(b, in, count, attrs, dx);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *const *x = node->inputs, *y = node->outputs[Y], *lse = dp_common_result(node, LSE);
  if (!lse) {  // the node was made without
    y = dp_build(b, DP_SCALED_DOT_PRODUCT, node->n_inputs, x, RESULTS, node->n_attrs, node->attrs);
    if (b->status) return;
    lse = y->producer->outputs[LSE];
  }
  dp_value *in[9] = {dy[Y],
                     x[Q],
                     x[K],
                     x[V],
                     y,
                     lse,
                     dp_common_operand(node, MASK),
                     dp_common_operand(node, SEED),
                     dp_common_operand(node, STEP)};
  if (dy[Y]) dx[V] = add_gradients(b, in, node->n_attrs, node->attrs, dx);
  if (node->n_outputs > LSE && dy[LSE]) add_statistics(b, node, lse, dy[LSE], dx);
}

static void placements(dp_sharding_rules *rules) {
  dp_scaled_dot_product e;
  dp_status status = dp_scaled_dot_product_check(rules->node, Q, MASK, &e);
  if (!status) dp_scaled_dot_product_sharding(rules, &e, operands, results);
  dp_status_free(status);  // infer has refused such a node
}

static dp_cost cost(const dp_node *node, int64_t n) { return dp_scaled_dot_product_cost(node, n, Q, 2); }

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,2,4], float32[N,5,2,4], float32[N,5,2,3]", .attrs = "scale=0.5", .n = 3},
    {.inputs = "float32[N,3,4,2], float32[N,4,2,2], float32[N,4,2,2], bool[3,4]",
     .attrs = "masked_rows=\"zero\"",
     .n = 2,
     .low = -1,
     .high = 1.5},
    {.inputs = "float32[N,2,6,2], float32[N,3,1,2], float32[N,3,1,1], float32[6,1,3]", .attrs = "scale=2.0", .n = 2},
    {.inputs = "float32[N,4,1,3], float32[N,4,1,3], float32[N,4,1,3], bool[N,1,1,4]",
     .attrs = "masked=-2.5",
     .n = 5,
     .low = 0,
     .high = 1.5},
    {.inputs = "float32[2,N,2,2], float32[2,3,2,2], float32[2,3,2,2], float32[2,1,N,3], int64[], int64[]",
     .attrs = "ratio=0.25, key=123456789",
     .n = 7,
     .low = 0,
     .high = 1},
    {.inputs = "float32[N,5,4,2], float32[N,3,2,2], float32[N,3,2,3]", .attrs = "scale=0.5, is_causal=1", .n = 3},
    {.inputs = "float32[2,N,2,2], float32[2,9,2,2], float32[2,9,2,2], , int64[], int64[]",
     .attrs = "is_causal=1, ratio=0.25, key=123456789",
     .n = 7,
     .low = 0,
     .high = 1},
    {0},
};

const dp_op dp_op_ScaledDotProductAttention = {
    .name = "ScaledDotProductAttention",
    .domain = "dp",
    .n_inputs = OPERANDS,
    .n_outputs = RESULTS,
    .inputs = {DP_OPERAND("Q", DP_FLOATS, 'T'), DP_OPERAND("K", DP_FLOATS, 'T'), DP_OPERAND("V", DP_FLOATS, 'T'),
               DP_OPTIONAL("mask", DP_FLOATS | DP_BIT(DP_BOOL), 0), DP_OPTIONAL("seed", DP_BIT(DP_INT64), 0),
               DP_OPTIONAL("step", DP_BIT(DP_INT64), 0)},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T'), DP_OPTIONAL("LSE", DP_BIT(DP_FLOAT32) | DP_BIT(DP_FLOAT64), 0)},
    .attrs = DP_SCALED_DOT_PRODUCT_ATTRS,
    .flags = DP_OP_RANDOM,
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .cost = cost,
    .samples = samples,
};
