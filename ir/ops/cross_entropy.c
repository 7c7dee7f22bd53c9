// What SoftmaxCrossEntropyLoss and its gradient share. See cross_entropy.h.
#include "ir/ops/cross_entropy.h"

#include <string.h>

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
  if (scores->rank < 2 || dp_dim_is_symbolic(scores->dims[1]))
    return dp_fail(EX_DATAERR, "the scores have shape %s; [N, classes, ...] is expected",
                   dp_shape_print(scores, text, sizeof text));
  dp_shape expected = {.rank = scores->rank - 1, .dims = {scores->dims[0]}};
  for (int d = 1; d < expected.rank; d++) expected.dims[d] = scores->dims[d + 1];
  DP_TRY(dp_common_expect("labels", labels, &expected));
  if (!dp_common_operand(node, weights)) return DP_OK;
  dp_shape classes = {.rank = 1, .dims = {scores->dims[1]}};
  return dp_common_expect("weights", dp_common_shape(node, weights), &classes);
}
