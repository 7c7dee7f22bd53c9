// dp.ScaledDotProductAttentionGrad(dY, Q, K, V, Y, LSE [, mask, seed, step]) -> dQ, dK, dV [, dmask]: the gradient of
// dp.ScaledDotProductAttention, from its result and its statistics.
//
//   P = exp(S - LSE); dV = dropout(P)' dY; dP = dropout(dY V'); dS = P (dP - sum(dY Y)), 0 where a bool mask is false
//   and for keys that is_causal hides;
//   dQ = scale dS K; dK = scale dS' Q; dmask = dS, with the scores' shape. Linear in dY.
#include "ir/ops/scaled_dot_product.h"

enum { DY, Q, K, V, Y, LSE, MASK, SEED, STEP, OPERANDS };
enum { DQ, DK, DV, DMASK, RESULTS };

static const dp_scaled_dot_product_part operands[] = {
    DP_SDP_RESULT,     DP_SDP_QUERY, DP_SDP_KEY,    DP_SDP_VALUE,  DP_SDP_RESULT,
    DP_SDP_STATISTICS, DP_SDP_MASK,  DP_SDP_SCALAR, DP_SDP_SCALAR,
};
static const dp_scaled_dot_product_part results[] = {DP_SDP_QUERY_GRAD, DP_SDP_KEY_GRAD, DP_SDP_VALUE_GRAD,
                                                     DP_SDP_MASK_GRAD};

static dp_status infer(dp_node *node) {
  dp_scaled_dot_product e;
  dp_dtype dtype = node->inputs[Q]->type->dtype, kept = dp_scaled_dot_product_statistics_type(dtype);
  DP_TRY(dp_scaled_dot_product_check(node, Q, MASK, &e));
  dp_shape y = {4, {e.batch, e.length, e.heads, e.v_size}}, scores = dp_scaled_dot_product_scores(&e);
  dp_shape statistics = dp_scaled_dot_product_statistics(&e);
  DP_TRY(dp_common_expect("dY", dp_common_shape(node, DY), &y));
  DP_TRY(dp_common_expect("Y", dp_common_shape(node, Y), &y));
  DP_TRY(dp_common_expect("LSE", dp_common_shape(node, LSE), &statistics));
  if (node->inputs[LSE]->type->dtype != kept)
    return dp_fail(EX_DATAERR, "LSE has another type than %s, in which statistics are kept", dp_type_name(kept));
  for (int i = DQ; i <= DV; i++) dp_common_set(node, i, dtype, dp_common_shape(node, Q + i));
  dp_common_set(node, DMASK, dtype, &scores);
  return DP_OK;
}

static void placements(dp_sharding_rules *rules) {
  dp_scaled_dot_product e;
  dp_status status = dp_scaled_dot_product_check(rules->node, Q, MASK, &e);
  dp_sharding_linear(rules, 1 << DY);
  if (!status) dp_scaled_dot_product_sharding(rules, &e, operands, results);
  dp_status_free(status);  // infer has refused such a node
}

static dp_cost cost(const dp_node *node, int64_t n) { return dp_scaled_dot_product_cost(node, n, Q, 5); }

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,2,3], float32[N,3,2,4], float32[N,5,2,4], float32[N,5,2,3], float32[N,3,2,3], "
               "float32[N,2,3]",
     .attrs = "scale=0.5",
     .n = 3},
    {.inputs = "float32[N,3,4,2], float32[N,3,4,2], float32[N,4,2,2], float32[N,4,2,2], float32[N,3,4,2], "
               "float32[N,4,3], bool[3,4]",
     .attrs = "masked_rows=\"zero\"",
     .n = 2,
     .low = -1,
     .high = 1.5},
    {.inputs = "float32[N,2,6,1], float32[N,2,6,2], float32[N,3,1,2], float32[N,3,1,1], float32[N,2,6,1], "
               "float32[N,6,2], float32[6,1,3]",
     .attrs = "scale=2.0",
     .n = 2},
    {.inputs = "float32[N,4,1,3], float32[N,4,1,3], float32[N,4,1,3], float32[N,4,1,3], float32[N,4,1,3], "
               "float32[N,1,4], bool[N,1,1,4]",
     .attrs = "masked=-2.5",
     .n = 5,
     .low = 0,
     .high = 1.5},
    {.inputs = "float32[2,N,2,2], float32[2,N,2,2], float32[2,3,2,2], float32[2,3,2,2], float32[2,N,2,2], "
               "float32[2,2,N], float32[2,1,N,3], int64[], int64[]",
     .attrs = "ratio=0.25, key=123456789",
     .n = 7,
     .low = 0,
     .high = 1},
    {.inputs = "float32[N,5,4,3], float32[N,5,4,2], float32[N,3,2,2], float32[N,3,2,3], float32[N,5,4,3], "
               "float32[N,4,5]",
     .attrs = "scale=0.5, is_causal=1",
     .n = 3},
    {.inputs = "float32[2,N,2,2], float32[2,N,2,2], float32[2,9,2,2], float32[2,9,2,2], float32[2,N,2,2], "
               "float32[2,2,N], , int64[], int64[]",
     .attrs = "is_causal=1, ratio=0.25, key=123456789",
     .n = 7,
     .low = 0,
     .high = 1},
    {0},
};

const dp_op dp_op_ScaledDotProductAttentionGrad = {
    .name = "ScaledDotProductAttentionGrad",
    .domain = "dp",
    .n_inputs = OPERANDS,
    .n_outputs = RESULTS,
    .inputs = {DP_OPERAND("dY", DP_FLOATS, 'T'), DP_OPERAND("Q", DP_FLOATS, 'T'), DP_OPERAND("K", DP_FLOATS, 'T'),
               DP_OPERAND("V", DP_FLOATS, 'T'), DP_OPERAND("Y", DP_FLOATS, 'T'),
               DP_OPERAND("LSE", DP_BIT(DP_FLOAT32) | DP_BIT(DP_FLOAT64), 0),
               DP_OPTIONAL("mask", DP_FLOATS | DP_BIT(DP_BOOL), 0), DP_OPTIONAL("seed", DP_BIT(DP_INT64), 0),
               DP_OPTIONAL("step", DP_BIT(DP_INT64), 0)},
    .outputs = {DP_OPERAND("dQ", DP_FLOATS, 'T'), DP_OPERAND("dK", DP_FLOATS, 'T'), DP_OPERAND("dV", DP_FLOATS, 'T'),
                DP_OPTIONAL("dmask", DP_FLOATS, 'T')},
    .attrs = DP_SCALED_DOT_PRODUCT_ATTRS,
    .flags = DP_OP_RANDOM,
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .sharding = placements,
    .cost = cost,
    .samples = samples,
};
