// Shared by Softmax and LogSoftmax: one axis that is whole on each device.
#ifndef DP_IR_OPS_SOFTMAX_H
#define DP_IR_OPS_SOFTMAX_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

dp_status dp_softmax_infer(dp_node *node);
void dp_softmax_sharding(dp_sharding_rules *rules);
// The sum of x along the axis, which is kept with extent 1.
dp_value *dp_softmax_sum(dp_builder *builder, const dp_node *node, dp_value *x);
dp_cost dp_softmax_cost(const dp_node *node, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
