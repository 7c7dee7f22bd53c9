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

#ifdef __cplusplus
}
#endif
#endif
