// Reductions over axes.
#ifndef DP_IR_OPS_REDUCE_H
#define DP_IR_OPS_REDUCE_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// Which dims of an operand of that rank are reduced, by the attributes axes and noop_with_empty_axes. For kernels too.
dp_status dp_reduce_axes(const dp_node *node, int rank, bool reduced[DP_MAX_RANK]);
dp_status dp_reduce_infer(dp_node *node);
// A kept dim stays split; a reduced one gives Partial(sum), also for a mean, since kernels divide by the whole count.
void dp_reduce_sharding(dp_sharding_rules *rules);
// dy repeated along the reduced dims: of operand 0's shape.
dp_value *dp_reduce_expand(dp_builder *builder, const dp_node *node, dp_value *dy);
// dp_op.row: from the first reduced dim on, if reduced dims are kept with extent 1.
int dp_reduce_row(const dp_node *node, int rank);
dp_cost dp_reduce_cost(const dp_node *node, int64_t n);

// What all of them share in the struct of an operator on these types.
#define DP_REDUCE_SCHEMA(TYPES)                                                                        \
  .n_inputs = 2, .n_outputs = 1,                                                                       \
  .inputs = {DP_OPERAND("data", TYPES, 'T'), DP_AS_ATTR("axes", DP_BIT(DP_INT64), true)},              \
  .outputs = {DP_OPERAND("reduced", TYPES, 'T')},                                                      \
  .attrs = {DP_INTS_ATTR("axes"), DP_INT_ATTR("keepdims", 1), DP_INT_ATTR("noop_with_empty_axes", 0)}, \
  .infer = dp_reduce_infer, .row = dp_reduce_row, .cost = dp_reduce_cost

#ifdef __cplusplus
}
#endif
#endif
