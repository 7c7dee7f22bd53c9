// Rows shared by the reductions other than sums and means.
#ifndef DP_IR_OPS_REDUCE_FOLD_H
#define DP_IR_OPS_REDUCE_FOLD_H

#include "ir/ops/piecewise.h"
#include "ir/ops/reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

// A kept dim stays split. A split of a reduced one gives `parts`; Replicate means that it cannot be split.
void dp_reduce_fold_sharding(dp_sharding_rules *rules, dp_placement parts);
// An operator with the node's attributes: the reduction `op` of x over the same axes.
dp_value *dp_reduce_fold_same(dp_builder *builder, const char *op, const dp_node *node, dp_value *x);
// The gradient of the maximum or minimum: shared equally among the elements that attain it.
void dp_reduce_fold_extreme(dp_builder *builder, const dp_node *node, dp_value *const *dy, dp_value **dx);
// Of numbers; of any type.
extern const dp_sample dp_reduce_fold_samples[], dp_reduce_fold_any_samples[];

#ifdef __cplusplus
}
#endif
#endif
