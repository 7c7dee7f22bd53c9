// What the gradients of LayerNormalization and RMSNormalization share: operands X, Scale, dY, results dX, dScale and,
// of the former, dB. With h the normalised X, g = Scale dY and means over a row:
//   dX = invstd (g - mean(g) - h mean(h g)), dScale = sum of h dY over rows, dB = sum of dY over rows.
// RMSNormalization subtracts no mean, so mean(g) is left out. Statistics are computed from X again: what reads X and dY
// has them for nothing, and the forward node need not keep them.
#ifndef DP_IR_OPS_NORMALIZATION_GRAD_H
#define DP_IR_OPS_NORMALIZATION_GRAD_H

#include "ir/ops/normalization.h"

#ifdef __cplusplus
extern "C" {
#endif

dp_status dp_normalization_grad_infer(dp_node *node) DP_MUST_USE;
// Rows may be split. dScale and dB are sums over a device's own then.
void dp_normalization_grad_sharding(dp_sharding_rules *rules);
// In elementary operators, whose sums are those of whole rows however these are placed.
void dp_normalization_grad_decompose(dp_builder *builder, const dp_node *node, dp_value *const *in, bool about_mean,
                                     dp_value **out);
dp_cost dp_normalization_grad_cost(const dp_node *node, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
