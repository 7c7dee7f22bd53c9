// The p-norm of many elements: the terms, and the root of their sum. Used by LpPool and GlobalLpPool.
#ifndef DP_IR_OPS_P_NORM_H
#define DP_IR_OPS_P_NORM_H

#include "ir/ops/elementwise.h"

#ifdef __cplusplus
extern "C" {
#endif

dp_status dp_p_norm_check(const dp_node *node) DP_MUST_USE;              // the attribute p
dp_value *dp_p_norm_power(dp_builder *builder, dp_value *x, int64_t p);  // |x|^p
dp_value *dp_p_norm_root(dp_builder *builder, dp_value *x, int64_t p);   // x^(1/p), x not negative

#ifdef __cplusplus
}
#endif
#endif
