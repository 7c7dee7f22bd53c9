// What updates of variables share: the operand `skip`, last in their schemas (DP_OP_UPDATE), and before it, of
// optimizers, `scale`: a factor of the gradient, which clipping gives.
#ifndef DP_IR_OPS_UPDATE_H
#define DP_IR_OPS_UPDATE_H

#include "ir/ops/elementwise.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DP_UPDATE_SCALE DP_OPTIONAL("scale", DP_FLOATS, 'T')
#define DP_UPDATE_SKIP DP_OPTIONAL("skip", DP_BIT(DP_INT64), 0)

// skip, if it is there, is one number.
static inline dp_status dp_update_expect_skip(const dp_node *node) {
  const dp_shape scalar = {0};
  const int skip = node->op->n_inputs - 1;
  return dp_common_operand(node, skip) ? dp_common_expect("skip", dp_common_shape(node, skip), &scalar) : DP_OK;
}

// Of an optimizer: so is scale.
static inline dp_status dp_update_expect_ends(const dp_node *node) {
  const dp_shape scalar = {0};
  const int scale = node->op->n_inputs - 2;
  if (dp_common_operand(node, scale)) DP_TRY(dp_common_expect("scale", dp_common_shape(node, scale), &scalar));
  return dp_update_expect_skip(node);
}

#ifdef __cplusplus
}
#endif
#endif
