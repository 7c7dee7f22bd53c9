// dp.SGD(w, m, g, lr [, step, scale, skip]) -> w' [, m']: one step of gradient descent, with PyTorch's momentum.
//
//   with scale: g *= scale, rounded
//   g += weight_decay * w
//   m' = momentum * m + (1 - dampening) * g, or g at step 0: PyTorch does not damp its first step; without m: m' = g
//   w' = w - lr * (nesterov ? g + momentum * m' : m')
// step (dp.step) is needed with dampening; without dampening, and with m initially 0, step 0 needs no special case.
// Result 0 overwrites w, result 1 m. Unless skip is 0 both stay as they were.
#include "ir/ops/update.h"

static dp_status infer(dp_node *node) {
  const dp_shape *w = dp_common_shape(node, 0);
  dp_shape scalar = {0};
  bool has_m = dp_common_operand(node, 1) != NULL;
  if (has_m) DP_TRY(dp_common_expect("m", dp_common_shape(node, 1), w));
  DP_TRY(dp_common_expect("the gradient", dp_common_shape(node, 2), w));
  DP_TRY(dp_common_expect("lr", dp_common_shape(node, 3), &scalar));
  if (dp_common_operand(node, 4)) DP_TRY(dp_common_expect("step", dp_common_shape(node, 4), &scalar));
  DP_TRY(dp_update_expect_ends(node));
  double momentum = dp_node_float(node, "momentum", 0), dampening = dp_node_float(node, "dampening", 0);
  bool nesterov = dp_node_int(node, "nesterov", 0) != 0;
  if (!(momentum >= 0)) return dp_fail(EX_DATAERR, "momentum is %g where 0 or more is expected", momentum);
  if ((momentum > 0) != has_m || has_m != (dp_common_result(node, 1) != NULL))
    return dp_fail(EX_DATAERR, "momentum is %g, %s m: they must be given together, as must m and its update", momentum,
                   has_m ? "with" : "without");
  if (nesterov && (!has_m || dampening != 0))
    return dp_fail(EX_DATAERR, "nesterov needs momentum and no dampening, found momentum=%g, dampening=%g", momentum,
                   dampening);
  if (dampening != 0 && has_m && !dp_common_operand(node, 4))
    return dp_fail(EX_DATAERR, "dampening needs the operand step");
  dp_common_set(node, 0, node->inputs[0]->type->dtype, w);
  dp_common_set(node, 1, node->inputs[0]->type->dtype, w);
  return DP_OK;
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *w = dp_common_shape(rules->node, 0);
  for (int d = 0; d < w->rank; d++)
    dp_sharding_split(rules, w->dims[d], (int[]){d, d, d, DP_WHOLE, DP_WHOLE, DP_WHOLE, DP_WHOLE}, (int[]){d, d});
}

static dp_cost cost(const dp_node *node, int64_t n) {
  return dp_common_cost(node, n, 6 * (double)dp_shape_count(dp_common_shape(node, 0), n));
}

static const dp_sample samples[] = {
    {.inputs = "float32[4,3], , float32[4,3], float32[]", .low = 0.01, .high = 1},
    {.inputs = "float32[4,3], , float32[4,3], float32[]", .attrs = "weight_decay=0.1", .low = 0.01, .high = 1},
    {.inputs = "float32[7], float32[7], float32[7], float32[]", .attrs = "momentum=0.9", .low = 0.01, .high = 1},
    {.inputs = "float32[7], float32[7], float32[7], float32[]",
     .attrs = "momentum=0.9, nesterov=1, weight_decay=0.01",
     .low = 0.01,
     .high = 1},
    {.inputs = "float32[7], float32[7], float32[7], float32[], int64[]",
     .attrs = "momentum=0.5, dampening=0.25",
     .low = 1,
     .high = 3},
    {.inputs = "float32[7], float32[7], float32[7], float32[], int64[]",
     .attrs = "momentum=0.5, dampening=0.25",
     .low = 0,
     .high = 0.5},
    {.inputs = "float32[7], float32[7], float32[7], float32[], , , int64[]",
     .attrs = "momentum=0.9",
     .low = 1,
     .high = 3},
    {.inputs = "float32[4,3], , float32[4,3], float32[], , , int64[]", .low = 0, .high = 0.5},
    {.inputs = "float32[4,3], , float32[4,3], float32[], , float32[]",
     .attrs = "weight_decay=0.1",
     .low = 0.1,
     .high = 2},
    {.inputs = "float32[7], float32[7], float32[7], float32[], int64[], float32[], int64[]",
     .attrs = "momentum=0.5, dampening=0.25",
     .low = 0.1,
     .high = 0.5},
    {0},
};

const dp_op dp_op_SGD = {
    .name = "SGD",
    .domain = "dp",
    .n_inputs = 7,
    .n_outputs = 2,
    .inputs = {DP_OPERAND("w", DP_FLOATS, 'T'), DP_OPTIONAL("m", DP_FLOATS, 'T'), DP_OPERAND("g", DP_FLOATS, 'T'),
               DP_OPERAND("lr", DP_FLOATS, 'T'), DP_OPTIONAL("step", DP_BIT(DP_INT64), 0), DP_UPDATE_SCALE,
               DP_UPDATE_SKIP},
    .outputs = {DP_OPERAND("w_new", DP_FLOATS, 'T'), DP_OPTIONAL("m_new", DP_FLOATS, 'T')},
    .attrs = {DP_FLOAT_ATTR("momentum", 0), DP_FLOAT_ATTR("dampening", 0), DP_INT_ATTR("nesterov", 0),
              DP_FLOAT_ATTR("weight_decay", 0)},
    .flags = DP_OP_UPDATE | DP_OP_ELEMENTWISE,
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .sharding = placements,
    .cost = cost,
    .samples = samples,
};
