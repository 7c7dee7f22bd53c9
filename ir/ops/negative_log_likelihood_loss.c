// NegativeLogLikelihoodLoss(log_probs [N, C, d...], target [N, d...] [, weights [C]]): minus the entry of each target,
// times its class's weight; ignore_index has weight 0. mean divides by the total weight over the whole batch.
// Specialized into GatherElements, products and sums.
#include <string.h>

#include "ir/ops/compose.h"
#include "ir/ops/cross_entropy.h"

static dp_status infer(dp_node *node) {
  dp_shape scalar = {0};
  DP_TRY(dp_cross_entropy_check(node, 2));
  dp_common_set(node, 0, node->inputs[0]->type->dtype,
                dp_cross_entropy_per_label(node) ? dp_common_shape(node, 1) : &scalar);
  return DP_OK;
}

static dp_value *sum(dp_builder *b, dp_value *x) {
  int64_t axes[DP_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
  return dp_build_reduce(b, "ReduceSum", x, axes, (size_t)x->type->shape.rank, false);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  const char *reduction = dp_node_string(node, "reduction", "mean");
  dp_value *weights = dp_common_operand(node, 2) ? in[2] : NULL;
  dp_value *counted = dp_cross_entropy_weights(b, node, in[1], weights, in[0]->type->dtype);
  dp_value *classes = dp_cross_entropy_known(b, node, in[1], dp_common_shape(node, 0)->dims[1]);
  dp_value *picked = dp_compose_pick(b, in[0], dp_compose_unsqueeze(b, classes, 1), 1);
  dp_value *loss = dp_build1(b, "Neg", dp_build_reshape(b, picked, &in[1]->type->shape));
  if (dp_node_attr(node, "ignore_index")) {  // whose entry may be infinite
    dp_value *none = dp_build_fill(b, loss->type->dtype, 0);
    loss = dp_compose_where(b, dp_cross_entropy_seen(b, node, in[1]), loss, none);
  }
  if (weights) loss = dp_build2(b, "Mul", loss, counted);
  if (strcmp(reduction, "none")) loss = sum(b, loss);
  out[0] = strcmp(reduction, "mean") ? loss : dp_build2(b, "Div", loss, sum(b, counted));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,5], int64[N]", .n = 6, .low = 0, .high = 4},
    {.inputs = "float32[N,3,4], int32[N,4], float32[3]", .attrs = "reduction=\"none\"", .n = 3, .low = 0, .high = 2},
    {.inputs = "float32[N,3,2,2], int64[N,2,2], float32[3]", .attrs = "ignore_index=1", .n = 3, .low = 0, .high = 2},
    {.inputs = "float32[N,4], int64[N]", .attrs = "ignore_index=-1", .n = 7, .low = -1, .high = 3},
    {.inputs = "float32[N,4], int64[N], float32[4]",
     .attrs = "ignore_index=4, reduction=\"sum\"",
     .n = 5,
     .low = 0,
     .high = 4},
    {0},
};

const dp_op dp_op_NegativeLogLikelihoodLoss = {
    .name = "NegativeLogLikelihoodLoss",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_FLOATS, 'T'), DP_OPERAND("target", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), 0),
               DP_OPTIONAL("weight", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("loss", DP_FLOATS, 'T')},
    .attrs = {{.name = "ignore_index", .kind = DP_ATTR_INT}, DP_STRING_ATTR("reduction", "mean")},
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
