// Normalization over axes: h = (x - mean) / sqrt(variance + epsilon), and its gradient. In elementary operators, whose
// means are those of the whole tensor however it is placed.
#ifndef DP_IR_OPS_NORMALIZATION_H
#define DP_IR_OPS_NORMALIZATION_H

#include "ir/ops/batch_normalization.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const int64_t *axes;  // ascending; must outlive this
  size_t n_axes;
  dp_value *mean, *invstd, *h;  // mean and invstd keep the axes with extent 1; mean NULL: nothing is subtracted
} dp_normalization;

// about_mean false: the root of the mean square, as in RMSNormalization. mean, invstd: known already, or NULL.
dp_normalization dp_normalization_make(dp_builder *builder, dp_value *x, const int64_t *axes, size_t n_axes,
                                       double epsilon, bool about_mean, dp_value *mean, dp_value *invstd);
// The gradient of x when that of h is dh.
dp_value *dp_normalization_back(dp_builder *builder, const dp_normalization *n, dp_value *dh);
dp_status dp_normalization_check_epsilon(const dp_node *node) DP_MUST_USE;

// Over the dims from attribute `axis` on, as in LayerNormalization and RMSNormalization: operands x, and scale, which
// has the shape of these dims.
int dp_normalization_inner_axis(const dp_node *node);  // not negative
size_t dp_normalization_inner_axes(const dp_node *node, int64_t axes[DP_MAX_RANK]);
// Checks axis, epsilon and the scale's shape, which becomes *inner.
dp_status dp_normalization_inner_check(const dp_node *node, dp_shape *inner) DP_MUST_USE;
// Sets the gradients of x, scale and, if the node has it, bias, by one node of operator `op`; dy: that of result 0.
void dp_normalization_inner_gradient(dp_builder *builder, const dp_node *node, const char *op, dp_value *dy,
                                     dp_value **dx);

// Channels (dim 1) in groups, as in GroupNormalization and InstanceNormalization: operands x [N, C, ...], scale [C],
// bias [C], attribute epsilon. Their infer, gradient, rows and decomposition.
dp_status dp_normalization_groups_infer(dp_node *node, int64_t groups);
void dp_normalization_groups_gradient(dp_builder *builder, const dp_node *node, int64_t groups, dp_value *dy,
                                      dp_value **dx);
void dp_normalization_groups_sharding(dp_sharding_rules *rules, int64_t groups);
dp_value *dp_normalization_groups_decompose(dp_builder *builder, const dp_node *node, int64_t groups,
                                            dp_value *const *in);
dp_cost dp_normalization_cost(const dp_node *node, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
