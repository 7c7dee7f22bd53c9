// SoftmaxCrossEntropyLoss(scores [N, C, d...], labels [N, d...] [, weights [C]]) -> loss [, log_prob [N, C, d...]].
//
// mean divides by the number of labels, or by their total weight when there are weights or an ignore_index. The number
// of labels is known to every part, so a split over labels gives partial sums. The total weight is not: the node is
// then decomposed into the sum of the losses divided by the sum of the weights. A split over classes needs the
// decomposition.
#include <string.h>

#include "ir/ops/compose.h"
#include "ir/ops/cross_entropy.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_cross_entropy_check(node, 2));
  dp_dtype dtype = node->inputs[0]->type->dtype;
  dp_shape scalar = {0};
  dp_common_set(node, 0, dtype, dp_cross_entropy_per_label(node) ? dp_common_shape(node, 1) : &scalar);
  dp_common_set(node, 1, dtype, dp_common_shape(node, 0));
  return DP_OK;
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  if (dy[0]) {
    dp_value *in[] = {node->inputs[0], node->inputs[1], dy[0], dp_common_operand(node, 2)};
    dx[0] = dp_build(b, "dp.SoftmaxCrossEntropyLossGrad", in[3] ? 4 : 3, in, 1, node->n_attrs, node->attrs);
  }
  if (node->n_outputs > 1 && dy[1]) {  // log_prob is a LogSoftmax
    int64_t axis = 1;
    dp_value *sum = dp_build_reduce(b, "ReduceSum", dy[1], &axis, 1, true);
    dp_value *scaled = dp_build2(b, "Mul", dp_build1(b, "Exp", node->outputs[1]), sum);
    dp_value *g = dp_build2(b, "Sub", dy[1], scaled);
    dx[0] = dx[0] ? dp_build2(b, "Add", dx[0], g) : g;
  }
}

static void placements(dp_sharding_rules *rules) {
  const dp_node *node = rules->node;
  if (!dp_cross_entropy_splits(node)) return;
  const dp_shape *labels = dp_common_shape(node, 1);
  for (int d = 0; d < labels->rank; d++) {
    int scores = d ? d + 1 : 0, loss = dp_cross_entropy_per_label(node) ? d : DP_SUMMED;
    dp_sharding_split(rules, labels->dims[d], (int[]){scores, d, DP_WHOLE}, (int[]){loss, scores});
  }
}

// A split over classes: the largest score and the sum of the exponentials are reduced, and the one device that has a
// label's class gives its score.
static void decompose(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  if (!dp_cross_entropy_splits(node)) {
    dp_cross_entropy_decompose(b, node, in, -1, out);
    return;
  }
  dp_cross_entropy_pieces p = dp_cross_entropy_take_apart(b, node, in[0], in[1]);
  dp_value *log = dp_build1(b, "Log", p.sum), *weights = dp_common_operand(node, 2) ? in[2] : NULL;
  if (node->n_outputs > 1 && node->outputs[1]) out[1] = dp_build2(b, "Sub", p.shifted, log);
  dp_value *each = dp_build2(b, "Sub", log, dp_compose_pick(b, p.shifted, p.class_index, 1));
  each = dp_build_reshape(b, each, &in[1]->type->shape);
  dp_value *factor = dp_cross_entropy_factor(b, node, in[1], weights, each->type->dtype);
  if (factor) each = dp_build2(b, "Mul", each, factor);
  static const int64_t axes[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const char *reduction = dp_node_string(node, "reduction", "mean");
  const char *op = !strcmp(reduction, "mean") ? "ReduceMean" : "ReduceSum";
  int rank = dp_cross_entropy_per_label(node) ? 0 : each->type->shape.rank;
  out[0] = dp_build_reduce(b, op, each, axes, (size_t)rank, false);
}

static dp_cost cost(const dp_node *node, int64_t n) {
  return dp_common_cost(node, n, 4 * (double)dp_shape_count(dp_common_shape(node, 0), n));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,5], int64[N]", .n = 6, .low = 0, .high = 4},
    {.inputs = "float32[N,5], int64[N]", .attrs = "reduction=\"sum\"", .n = 6, .low = 0, .high = 4},
    {.inputs = "float32[N,3,4], int32[N,4]", .attrs = "reduction=\"none\"", .n = 3, .low = 0, .high = 2},
    {.inputs = "float32[N,3,2,2], int64[N,2,2]", .n = 2, .low = 0, .high = 2},
    {.inputs = "float32[N,4], int64[N], float32[4]", .n = 5, .low = 0, .high = 3},
    {.inputs = "float32[N,4], int64[N], float32[4]", .attrs = "reduction=\"sum\"", .n = 5, .low = 0, .high = 3},
    {.inputs = "float32[N,4], int64[N]", .attrs = "ignore_index=2", .n = 7, .low = 0, .high = 3},
    {.inputs = "float32[N,4], int64[N]", .attrs = "ignore_index=-1, reduction=\"sum\"", .n = 5, .low = -1, .high = 3},
    {0},
};

const dp_op dp_op_SoftmaxCrossEntropyLoss = {
    .name = "SoftmaxCrossEntropyLoss",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 2,
    .inputs = {DP_OPERAND("scores", DP_FLOATS, 'T'), DP_OPERAND("labels", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), 0),
               DP_OPTIONAL("weights", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 'T'), DP_OPTIONAL("log_prob", DP_FLOATS, 'T')},
    .attrs = {{.name = "ignore_index", .kind = DP_ATTR_INT}, DP_STRING_ATTR("reduction", "mean")},
    .refuses = dp_cross_entropy_refuses,
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .decompose = decompose,
    .cost = cost,
    .samples = samples,
};
