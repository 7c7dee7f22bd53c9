// Shared by SoftmaxCrossEntropyLoss and its gradient. Labels are 0 .. C-1 or the ignore_index.
#ifndef DP_IR_OPS_CROSS_ENTROPY_H
#define DP_IR_OPS_CROSS_ENTROPY_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// Checks the shapes of scores, labels and weights (operand `weights`, if given) and the attribute reduction.
dp_status dp_cross_entropy_check(const dp_node *node, int weights);
bool dp_cross_entropy_per_label(const dp_node *node);  // reduction none
// Whether the loss of a part of the labels is known without the rest, up to a sum.
bool dp_cross_entropy_splits(const dp_node *node);

// dp_op.refuses of both: labels that are no class and not the ignore_index.
bool dp_cross_entropy_refuses(const dp_node *node, dp_refusal *refusal);

// bool [N, d...]: the labels that are not the ignore_index. NULL: all.
dp_value *dp_cross_entropy_seen(dp_builder *builder, const dp_node *node, dp_value *labels);
// The labels as indices of `classes` classes: 0 instead of the ignore_index, and one out of range instead of any other
// negative label, which as an index would count from the end.
dp_value *dp_cross_entropy_known(dp_builder *builder, const dp_node *node, dp_value *labels, dp_dim classes);
// The weight of each label, [N, d...]: its class's weight, 1 without weights (NULL), 0 where it is ignored.
dp_value *dp_cross_entropy_weights(dp_builder *builder, const dp_node *node, dp_value *labels, dp_value *weights,
                                   dp_dtype dtype);
// Decomposes a mean over weighted labels, loss or gradient, into the same operator's sum, with operand `scaled` (-1:
// result 0) divided by the labels' total weight. out: as many results as the node has.
void dp_cross_entropy_decompose(dp_builder *builder, const dp_node *node, dp_value *const *in, int scaled,
                                dp_value **out);

// The softmax over the classes in simpler operators, each of which can have a part of the classes: maximum and sum are
// reduced.
typedef struct {
  dp_value *shifted;      // [N, C, d...]: the scores minus the maximum
  dp_value *exp;          // [N, C, d...]: its exponentials
  dp_value *sum;          // [N, 1, d...]: their sum
  dp_value *class_index;  // [N, 1, d...]: the class of each label
} dp_cross_entropy_pieces;
dp_cross_entropy_pieces dp_cross_entropy_take_apart(dp_builder *builder, const dp_node *node, dp_value *scores,
                                                    dp_value *labels);
// The factor of each label's loss, [N, d...]; NULL: 1. weights: NULL, or the class weights.
dp_value *dp_cross_entropy_factor(dp_builder *builder, const dp_node *node, dp_value *labels, dp_value *weights,
                                  dp_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
