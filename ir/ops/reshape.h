// The same elements, in row-major order, under another shape: Reshape and Flatten.
#ifndef DP_IR_OPS_RESHAPE_H
#define DP_IR_OPS_RESHAPE_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// Rows that carry a split through, by the views of operand 0 and of result 0. A dim viewed as outer x k x unit is the
// same split of the elements in both shapes, so that each device's part is a plain copy.
void dp_reshape_sharding(dp_sharding_rules *rules);
// dx[0]: dy in the operand's shape.
void dp_reshape_gradient(dp_builder *builder, const dp_node *node, dp_value *const *dy, dp_value **dx);

#ifdef __cplusplus
}
#endif
#endif
