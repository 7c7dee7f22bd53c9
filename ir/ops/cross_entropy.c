// Shared by SoftmaxCrossEntropyLoss and its gradient. See cross_entropy.h.
#include "ir/ops/cross_entropy.h"

#include <string.h>

#include "ir/ops/compose.h"

static const char *reduction_of(const dp_node *node) { return dp_node_string(node, "reduction", "mean"); }

bool dp_cross_entropy_per_label(const dp_node *node) { return !strcmp(reduction_of(node), "none"); }

bool dp_cross_entropy_splits(const dp_node *node) {
  bool weighted = dp_node_attr(node, "ignore_index") != NULL;
  for (int i = 2; i < node->n_inputs; i++)  // the weights come last, in the loss and in its gradient
    weighted |= node->inputs[i] && i == node->op->n_inputs - 1;
  return !weighted || strcmp(reduction_of(node), "mean");
}

dp_status dp_cross_entropy_check(const dp_node *node, int weights) {
  const dp_shape *scores = dp_common_shape(node, 0), *labels = dp_common_shape(node, 1);
  const char *reduction = reduction_of(node);
  char text[256];
  if (strcmp(reduction, "mean") && strcmp(reduction, "sum") && strcmp(reduction, "none"))
    return dp_fail(EX_DATAERR, "reduction is '%s' where mean, sum or none is expected", reduction);
  if (scores->rank < 2)
    return dp_fail(EX_DATAERR, "the scores have shape %s; [N, classes, ...] is expected",
                   dp_shape_print(scores, text, sizeof text));
  dp_shape expected = {.rank = scores->rank - 1, .dims = {scores->dims[0]}};
  for (int d = 1; d < expected.rank; d++) expected.dims[d] = scores->dims[d + 1];
  DP_TRY(dp_common_expect("labels", labels, &expected));
  if (!dp_common_operand(node, weights)) return DP_OK;
  dp_shape classes = {.rank = 1, .dims = {scores->dims[1]}};
  return dp_common_expect("weights", dp_common_shape(node, weights), &classes);
}

bool dp_cross_entropy_refuses(const dp_node *node, dp_refusal *refusal) {
  *refusal = (dp_refusal){.operand = 1,
                          .bounded = true,
                          .limit = dp_common_shape(node, 0)->dims[1],
                          .has_other = dp_node_attr(node, "ignore_index") != NULL,
                          .other = dp_node_int(node, "ignore_index", 0)};
  return true;
}

dp_value *dp_cross_entropy_seen(dp_builder *b, const dp_node *node, dp_value *labels) {
  if (!dp_node_attr(node, "ignore_index")) return NULL;
  dp_value *ignored = dp_build_fill(b, labels->type->dtype, (double)dp_node_int(node, "ignore_index", 0));
  return dp_build1(b, "Not", dp_build2(b, "Equal", labels, ignored));
}

dp_value *dp_cross_entropy_known(dp_builder *b, const dp_node *node, dp_value *labels, dp_dim classes) {
  const dp_dtype dtype = labels->type->dtype;
  dp_value *seen = dp_cross_entropy_seen(b, node, labels);
  if (seen) labels = dp_compose_where(b, seen, labels, dp_build_fill(b, dtype, 0));
  if (dp_dim_is_symbolic(classes)) return labels;
  return dp_piecewise_where(b, "Less", labels, 0, dp_build_fill(b, dtype, (double)classes.offset), labels);
}

dp_value *dp_cross_entropy_weights(dp_builder *b, const dp_node *node, dp_value *labels, dp_value *weights,
                                   dp_dtype dtype) {
  dp_value *seen = dp_cross_entropy_seen(b, node, labels);
  if (!weights && seen) return dp_build_cast(b, seen, dtype);
  if (!weights) return dp_compose_filled(b, dtype, &labels->type->shape, 1);
  dp_value *each =
      dp_compose_gather(b, weights, dp_cross_entropy_known(b, node, labels, weights->type->shape.dims[0]), 0);
  return seen ? dp_compose_where(b, seen, each, dp_build_fill(b, dtype, 0)) : each;
}

dp_value *dp_cross_entropy_factor(dp_builder *b, const dp_node *node, dp_value *labels, dp_value *weights,
                                  dp_dtype dtype) {
  if (!weights && !dp_node_attr(node, "ignore_index")) return NULL;
  return dp_cross_entropy_weights(b, node, labels, weights, dtype);
}

dp_cross_entropy_pieces dp_cross_entropy_take_apart(dp_builder *b, const dp_node *node, dp_value *scores,
                                                    dp_value *labels) {
  int64_t classes = 1;
  dp_cross_entropy_pieces p;
  p.shifted = dp_build2(b, "Sub", scores, dp_build_reduce(b, "ReduceMax", scores, &classes, 1, true));
  p.exp = dp_build1(b, "Exp", p.shifted);
  p.sum = dp_build_reduce(b, "ReduceSum", p.exp, &classes, 1, true);
  p.class_index = dp_compose_unsqueeze(b, dp_cross_entropy_known(b, node, labels, scores->type->shape.dims[1]), 1);
  return p;
}

void dp_cross_entropy_decompose(dp_builder *b, const dp_node *node, dp_value *const *in, int scaled, dp_value **out) {
  int last = node->op->n_inputs - 1;
  dp_value *operands[DP_MAX_OPERANDS] = {0}, *weights = dp_common_operand(node, last) ? in[last] : NULL;
  for (int i = 0; i < node->n_inputs; i++) operands[i] = in[i];
  dp_value *each = dp_cross_entropy_weights(b, node, in[1], weights, in[0]->type->dtype);
  int64_t axes[DP_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
  dp_value *count = dp_build_reduce(b, "ReduceSum", each, axes, (size_t)each->type->shape.rank, false);
  if (scaled >= 0) operands[scaled] = dp_build2(b, "Div", in[scaled], count);
  dp_attr attrs[2] = {dp_attr_string("reduction", "sum")};
  int n_attrs = 1;
  if (dp_node_attr(node, "ignore_index")) attrs[n_attrs++] = *dp_node_attr(node, "ignore_index");
  const char *name = *node->op->domain ? dp_printf(b->graph->arena, "dp.%s", node->op->name) : node->op->name;
  out[0] = dp_build(b, name, node->n_inputs, operands, node->n_outputs, n_attrs, attrs);
  if (node->n_outputs > 1 && out[0]->producer) out[1] = out[0]->producer->outputs[1];
  if (scaled < 0) out[0] = dp_build2(b, "Div", out[0], count);
}
