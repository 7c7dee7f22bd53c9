// The head of a network with many classes: the product that makes scores, the loss of these, and in training the loss's
// gradient and what it gives the weights and the layers before. Scores are the largest values of such a network by far.
// But each sample's are made of its own features alone, so that a head can be computed for some rows after others, and
// the scores of all of them never exist at once.
#ifndef DP_IR_KERNEL_HEAD_H
#define DP_IR_KERNEL_HEAD_H

#include "ir/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_HEAD_MEMBERS = 24, DP_HEAD_VALUES = 64 };  // at most, of one head

// What a value is to a head that is computed in chunks of rows.
typedef enum {
  DP_HEAD_UNKNOWN = 0,
  DP_HEAD_WHOLE,  // every chunk reads all of it: weights, a bias, the loss's own gradient
  DP_HEAD_ROWS,   // all dims but the last are rows; a vector is rows of one element
  DP_HEAD_SUM,    // each chunk adds its share: gradients of weights, the loss. Nothing in the head reads it
} dp_head_standing;

// A node as the rule sees it.
typedef struct {
  const dp_op *op;
  const dp_node *node;  // attributes alone
  int n_inputs;
  int rank[DP_MAX_OPERANDS];                 // of the operands; -1: absent
  dp_head_standing inputs[DP_MAX_OPERANDS];  // in: what is known; out: what each has to be
  dp_head_standing output;                   // out: of result 0
} dp_head_member;

// Whether the node can be computed in chunks of rows, as far as operator, attributes and ranks tell. Only its first
// result may be asked for. Rows that have the extents of other rows, and views that keep the last dim, are the caller's
// to check.
bool dp_head_takes(dp_head_member *member);

// Whether the node is SoftmaxCrossEntropyLoss or its gradient.
bool dp_head_is_loss(const dp_op *op);

#ifdef __cplusplus
}
#endif
#endif
