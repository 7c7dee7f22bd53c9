// dp.Adam(w, m, v, g, lr, step [, scale, skip]) -> w', m', v': one step of Adam (Kingma, Ba 2015) or, decoupled, of
// AdamW (Loshchilov, Hutter 2019), as PyTorch computes them.
//
//   with scale: g *= scale, rounded
//   decoupled: w *= 1 - lr * weight_decay; else: g += weight_decay * w
//   m' = beta1 * m + (1 - beta1) * g
//   v' = beta2 * v + (1 - beta2) * g * g
//   w' = w - lr / (1 - beta1^t) * m' / (sqrt(v' / (1 - beta2^t)) + eps), t = step + 1
// m and v are 0 at first. Results 0, 1, 2 take the places of w, m, v, which stay as they
// were unless skip is 0.
#include "ir/ops/update.h"

static dp_status expect_below_one(const dp_node *node, const char *name, double otherwise) {
  double beta = dp_node_float(node, name, otherwise);
  if (beta >= 0 && beta < 1) return DP_OK;
  return dp_fail(EX_DATAERR, "%s is %g where 0 or more, less than 1, is expected", name, beta);
}

static dp_status expect_not_negative(const dp_node *node, const char *name) {
  double number = dp_node_float(node, name, 0);
  if (number >= 0) return DP_OK;
  return dp_fail(EX_DATAERR, "%s is %g where 0 or more is expected", name, number);
}

static dp_status infer(dp_node *node) {
  const dp_shape *w = dp_common_shape(node, 0);
  dp_shape scalar = {0};
  DP_TRY(dp_common_expect("m", dp_common_shape(node, 1), w));
  DP_TRY(dp_common_expect("v", dp_common_shape(node, 2), w));
  DP_TRY(dp_common_expect("the gradient", dp_common_shape(node, 3), w));
  DP_TRY(dp_common_expect("lr", dp_common_shape(node, 4), &scalar));
  DP_TRY(dp_common_expect("step", dp_common_shape(node, 5), &scalar));
  DP_TRY(dp_update_expect_ends(node));
  DP_TRY(expect_below_one(node, "beta1", 0.9));
  DP_TRY(expect_below_one(node, "beta2", 0.999));
  DP_TRY(expect_not_negative(node, "eps"));
  DP_TRY(expect_not_negative(node, "weight_decay"));
  for (int i = 0; i < 3; i++) dp_common_set(node, i, node->inputs[0]->type->dtype, w);
  return DP_OK;
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *w = dp_common_shape(rules->node, 0);
  for (int d = 0; d < w->rank; d++)
    dp_sharding_split(rules, w->dims[d], (int[]){d, d, d, d, DP_WHOLE, DP_WHOLE, DP_WHOLE, DP_WHOLE}, (int[]){d, d, d});
}

static dp_cost cost(const dp_node *node, int64_t n) {
  return dp_common_cost(node, n, 14 * (double)dp_shape_count(dp_common_shape(node, 0), n));
}

#define OPERANDS(SHAPE) "float32" SHAPE ", float32" SHAPE ", float32" SHAPE ", float32" SHAPE ", float32[], int64[]"

// v is a mean of squares, so no sample draws below 0. A range within 0 .. 1 makes the step 0.
static const dp_sample samples[] = {
    {.inputs = OPERANDS("[4,3]"), .low = 0.01, .high = 1},
    {.inputs = OPERANDS("[7]"), .attrs = "beta1=0.5, beta2=0.75, eps=0.125", .low = 0, .high = 0.5},
    {.inputs = OPERANDS("[2,3,2]"), .attrs = "beta1=0.0, beta2=0.0, weight_decay=0.1", .low = 1, .high = 3},
    {.inputs = OPERANDS("[7]"), .attrs = "weight_decay=0.1, decoupled=1", .low = 1, .high = 6},
    {.inputs = OPERANDS("[7]") ", , int64[]", .low = 1, .high = 6},
    {.inputs = OPERANDS("[3]") ", , int64[]", .low = 0, .high = 0.5},
    {.inputs = OPERANDS("[5]") ", float32[]", .attrs = "weight_decay=0.1", .low = 0.1, .high = 2},
    {.inputs = OPERANDS("[3]") ", float32[], int64[]", .low = 0.1, .high = 0.5},
    {0},
};

const dp_op dp_op_Adam = {
    .name = "Adam",
    .domain = "dp",
    .n_inputs = 8,
    .n_outputs = 3,
    .inputs = {DP_OPERAND("w", DP_FLOATS, 'T'), DP_OPERAND("m", DP_FLOATS, 'T'), DP_OPERAND("v", DP_FLOATS, 'T'),
               DP_OPERAND("g", DP_FLOATS, 'T'), DP_OPERAND("lr", DP_FLOATS, 'T'),
               DP_OPERAND("step", DP_BIT(DP_INT64), 0), DP_UPDATE_SCALE, DP_UPDATE_SKIP},
    .outputs = {DP_OPERAND("w_new", DP_FLOATS, 'T'), DP_OPERAND("m_new", DP_FLOATS, 'T'),
                DP_OPERAND("v_new", DP_FLOATS, 'T')},
    .attrs = {DP_FLOAT_ATTR("beta1", 0.9), DP_FLOAT_ATTR("beta2", 0.999), DP_FLOAT_ATTR("eps", 1e-8),
              DP_FLOAT_ATTR("weight_decay", 0), DP_INT_ATTR("decoupled", 0)},
    .flags = DP_OP_UPDATE | DP_OP_ELEMENTWISE,
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .sharding = placements,
    .cost = cost,
    .samples = samples,
};
