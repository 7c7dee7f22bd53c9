// dp.SoftmaxCrossEntropyLossGrad(scores, labels, dloss [, weights]): (softmax(scores) - [class is the label]) times
// dloss, the label's weight, and 1 / count for a mean. Linear in dloss.
#include <string.h>

#include "ir/ops/compose.h"
#include "ir/ops/cross_entropy.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_cross_entropy_check(node, 3));
  dp_shape scalar = {0};
  DP_TRY(dp_common_expect("the gradient", dp_common_shape(node, 2),
                          dp_cross_entropy_per_label(node) ? dp_common_shape(node, 1) : &scalar));
  return dp_common_infer_same(node);
}

static void placements(dp_sharding_rules *rules) {
  const dp_node *node = rules->node;
  dp_sharding_linear(rules, 4);
  if (!dp_cross_entropy_splits(node)) return;
  const dp_shape *labels = dp_common_shape(node, 1);
  for (int d = 0; d < labels->rank; d++) {
    int scores = d ? d + 1 : 0, loss = dp_cross_entropy_per_label(node) ? d : DP_WHOLE;
    dp_sharding_split(rules, labels->dims[d], (int[]){scores, d, loss, DP_WHOLE}, &scores);
  }
}

// The factor of each label's difference, [N, 1, d...] or rank 0.
static dp_value *scale_of(dp_builder *b, const dp_node *node, dp_value *const *in) {
  const dp_shape *labels = &in[1]->type->shape;
  dp_value *scale = in[2], *weights = dp_common_operand(node, 3) ? in[3] : NULL;
  static const int64_t axes[] = {0, 1, 2, 3, 4, 5, 6, 7};
  if (!strcmp(dp_node_string(node, "reduction", "mean"), "mean"))
    scale = dp_build2(b, "Div", scale, dp_build_count(b, labels, axes, (size_t)labels->rank, scale->type->dtype));
  dp_value *factor = dp_cross_entropy_factor(b, node, in[1], weights, scale->type->dtype);
  if (factor) scale = dp_build2(b, "Mul", factor, scale);
  return scale->type->shape.rank ? dp_compose_unsqueeze(b, scale, 1) : scale;
}

// A split over classes, as in the loss.
static void decompose(dp_builder *b, const dp_node *node, dp_value *const *in, dp_value **out) {
  if (!dp_cross_entropy_splits(node)) {
    dp_cross_entropy_decompose(b, node, in, 2, out);
    return;
  }
  dp_cross_entropy_pieces p = dp_cross_entropy_take_apart(b, node, in[0], in[1]);
  dp_dtype dtype = in[0]->type->dtype;
  dp_value *softmax = dp_build2(b, "Div", p.exp, p.sum);
  dp_value *taken[] = {softmax, p.class_index, dp_compose_filled(b, dtype, &p.class_index->type->shape, -1)};
  dp_attr attrs[] = {dp_attr_int("axis", 1), dp_attr_string("reduction", "add")};
  dp_value *difference = dp_build(b, "ScatterElements", 3, taken, 1, 2, attrs);
  out[0] = dp_build2(b, "Mul", difference, scale_of(b, node, in));
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
    .refuses = dp_cross_entropy_refuses,
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .sharding = placements,
    .decompose = decompose,
    .cost = cost,
    .samples = samples,
};
