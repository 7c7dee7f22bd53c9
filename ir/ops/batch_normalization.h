// Shared by BatchNormalization and its gradient: sums over every dim except the channels (dim 1).
#ifndef DP_IR_OPS_BATCH_NORMALIZATION_H
#define DP_IR_OPS_BATCH_NORMALIZATION_H

#include "ir/ops/elementwise.h"

#ifdef __cplusplus
extern "C" {
#endif

// All dims but dim 1; how many.
size_t dp_batch_normalization_axes(const dp_shape *x, int64_t axes[DP_MAX_RANK]);
// v [C] as [1, C, 1, ...] of x's rank.
dp_value *dp_batch_normalization_wide(dp_builder *builder, dp_value *v, const dp_shape *x);
// in[0] is x, in[1] the scale: sets wide[i] to in[i] in the wider of their types, which simpler operators compute in.
void dp_batch_normalization_widen(dp_builder *builder, int count, dp_value *const *in, dp_value **wide);
// x is [N, C, ...] and operands first .. first + count - 1 are [C].
dp_status dp_batch_normalization_check(const dp_node *node, int first, int count);

// The rest of infer for a gradient whose x and scale are already checked: its statistics must have shape `saved`.
dp_status dp_batch_normalization_grad_infer(dp_node *node, const dp_shape *saved);
// Results 0 to 2 of the gradient, those that the node has, from x, scale, mean, invstd and dy.
void dp_batch_normalization_grad_decompose(dp_builder *b, const dp_node *node, dp_value *const *given, dp_value **out);
dp_cost dp_batch_normalization_grad_cost(const dp_node *node, int64_t n);

// With statistics of groups of samples: see grouped_batch_normalization.c. `axis` is the mesh axis that splits the
// batch.
#define DP_BATCH_NORMALIZATION_GROUPS                                                  \
  {.name = "groups", .kind = DP_ATTR_INT, .required = true}, DP_INT_ATTR("unit", 1), { \
    .name = "axis", .kind = DP_ATTR_STRING, .required = true                           \
  }
// saved: [groups, C]. Operand 0 consists of whole samples.
dp_status dp_batch_normalization_groups(const dp_node *node, dp_shape *saved);
// A row that holds on the node's axis alone.
dp_sharding_rule *dp_batch_normalization_group_row(dp_sharding_rules *rules);

#ifdef __cplusplus
}
#endif
#endif
