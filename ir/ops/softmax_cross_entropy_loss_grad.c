// dp.SoftmaxCrossEntropyLossGrad(scores, labels, dloss [, weights]): (softmax(scores) - [class is the label]) times
// dloss, the label's weight, and 1 / count for a mean. Linear in dloss.
#include "ir/ops/cross_entropy.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_cross_entropy_check(node, 3));
  dp_shape scalar = {0};
  DP_TRY(dp_common_expect("the gradient", dp_common_shape(node, 2),
                          dp_cross_entropy_per_label(node) ? dp_common_shape(node, 1) : &scalar));
  return dp_common_infer_same(node);
}

static void placements(dp_rows *rows) {
  const dp_node *node = rows->node;
  dp_rows_linear(rows, 4);
  if (!dp_cross_entropy_splits(node)) return;
  const dp_shape *labels = dp_common_shape(node, 1);
  for (int d = 0; d < labels->rank; d++) {
    int scores = d ? d + 1 : 0, loss = dp_cross_entropy_per_label(node) ? d : DP_WHOLE;
    dp_rows_split(rows, labels->dims[d], (int[]){scores, d, loss, DP_WHOLE}, &scores);
  }
}

static void lower(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  dp_cross_entropy_lower(b, node, in, 2, out);
}

static dp_cost cost(const dp_node *node, int64_t n) {
  return dp_common_cost(node, n, 5 * (double)dp_shape_count(dp_common_shape(node, 0), n));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,5], int64[N], float32[]", .n = 6, .low = 0, .high = 4},
    {.inputs = "float32[N,5], int64[N], float32[]", .attrs = "reduction=\"sum\"", .n = 6, .low = 0, .high = 4},
    {.inputs = "float32[N,3,4], int32[N,4], float32[N,4]", .attrs = "reduction=\"none\"", .n = 3, .low = 0, .high = 2},
    {.inputs = "float32[N,3,2,2], int64[N,2,2], float32[]", .n = 2, .low = 0, .high = 2},
    {.inputs = "float32[N,4], int64[N], float32[], float32[4]", .n = 5, .low = 0, .high = 3},
    {.inputs = "float32[N,4], int64[N], float32[]", .attrs = "ignore_index=2", .n = 7, .low = 0, .high = 3},
    {0},
};

const dp_op dp_op_SoftmaxCrossEntropyLossGrad = {
    .name = "SoftmaxCrossEntropyLossGrad",
    .domain = "dp",
    .n_inputs = 4,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("scores", DP_FLOATS, 'T'), DP_OPERAND("labels", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), 0),
               DP_OPERAND("dloss", DP_FLOATS, 'T'), DP_OPTIONAL("weights", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("dscores", DP_FLOATS, 'T')},
    .attrs = {{.name = "ignore_index", .kind = DP_ATTR_INT}, DP_STRING_ATTR("reduction", "mean")},
    .infer = infer,
    .placements = placements,
    .lower = lower,
    .cost = cost,
    .samples = samples,
};
