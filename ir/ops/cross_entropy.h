// What SoftmaxCrossEntropyLoss and its gradient share. Labels lie in 0 .. C-1, or are the ignore_index.
#ifndef DP_IR_OPS_CROSS_ENTROPY_H
#define DP_IR_OPS_CROSS_ENTROPY_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// Shapes of scores, labels, weights (operand `weights`, if given) and the attribute reduction.
dp_status dp_cross_entropy_check(const dp_node *node, int weights);
bool dp_cross_entropy_per_label(const dp_node *node);  // reduction none
// Whether the loss of a part of the labels is known without the rest, up to a sum.
bool dp_cross_entropy_splits(const dp_node *node);

// bool [N, d...]: the labels that are not the ignore_index. NULL: all.
dp_value *dp_cross_entropy_seen(dp_builder *builder, const dp_node *node, dp_value *labels);
// The labels, class 0 in place of the ignore_index.
dp_value *dp_cross_entropy_known(dp_builder *builder, const dp_node *node, dp_value *labels);
// What each label counts for, [N, d...]: its class's weight, 1 without weights (NULL), 0 where it is ignored.
dp_value *dp_cross_entropy_weights(dp_builder *builder, const dp_node *node, dp_value *labels, dp_value *weights,
                                   dp_dtype dtype);
// The lowering of a mean over weighted labels, loss or gradient: the same operator's sum, with
// operand `scaled` (-1: result 0) over the sum of what the labels count for. out: as many results as the node has.
void dp_cross_entropy_decompose(dp_builder *builder, const dp_node *node, dp_value *const *in, int scaled,
                                dp_value **out);

// The softmax over the classes in pieces, each of which can have a part of the classes: largest and sum are reduced.
typedef struct {
  dp_value *shifted;  // [N, C, d...]: the scores less the largest
  dp_value *exp;      // [N, C, d...]: its exponentials
  dp_value *sum;      // [N, 1, d...]: their sum
  dp_value *place;    // [N, 1, d...]: the class of each label
} dp_cross_entropy_pieces;
dp_cross_entropy_pieces dp_cross_entropy_take_apart(dp_builder *builder, const dp_node *node, dp_value *scores,
                                                    dp_value *labels);
// What multiplies each label's loss, [N, d...]; NULL: 1. weights: NULL, or the class weights.
dp_value *dp_cross_entropy_factor(dp_builder *builder, const dp_node *node, dp_value *labels, dp_value *weights,
                                  dp_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
