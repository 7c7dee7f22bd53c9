// Elements selected along one axis by indices of the same rank: GatherElements, ScatterElements, TopK.
#ifndef DP_IR_OPS_ELEMENTS_H
#define DP_IR_OPS_ELEMENTS_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

int dp_elements_axis(const dp_node *node, int64_t otherwise);  // the attribute axis, of operand 0's dims
// Operand 1, the indices, must have operand 0's rank and no larger extents, except along the axis.
dp_status dp_elements_check(const dp_node *node) DP_MUST_USE;
// Rows that split, in all operands and the result, every dim but the axis that is as long in the indices as in operand
// 0.
void dp_elements_sharding(dp_sharding_rules *rules);
// dp_op.refuses of both: indices out of the axis's range.
bool dp_elements_refuses(const dp_node *node, dp_refusal *refusal);
// Zeros of that shape with the updates added at the indices, along the node's axis.
dp_value *dp_elements_add(dp_builder *builder, const dp_node *node, const dp_shape *shape, dp_value *indices,
                          dp_value *updates);

#ifdef __cplusplus
}
#endif
#endif
