// Shared by the pools over all spatial dims: GlobalAveragePool, GlobalLpPool, GlobalMaxPool.
#ifndef DP_IR_OPS_GLOBAL_POOL_H
#define DP_IR_OPS_GLOBAL_POOL_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// The operand is [N, C, spatial...]; the result has every spatial dim with extent 1.
dp_status dp_global_pool_infer(dp_node *node);
// x reduced by `op`, a Reduce operator, along its spatial dims, which are kept with extent 1.
dp_value *dp_global_pool_reduce(dp_builder *builder, const char *op, dp_value *x);
// The spatial dims of x; how many.
size_t dp_global_pool_axes(const dp_shape *x, int64_t axes[DP_MAX_RANK]);

#ifdef __cplusplus
}
#endif
#endif
