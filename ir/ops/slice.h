// Which elements Slice takes along each dim. For kernels too.
#ifndef DP_IR_OPS_SLICE_H
#define DP_IR_OPS_SLICE_H

#include "ir/ops/blocks.h"

#ifdef __cplusplus
extern "C" {
#endif

// Along dim d the elements start[d] + i * step[d], i in [0, extent[d]).
typedef struct {
  int rank;
  int64_t start[DP_MAX_RANK], step[DP_MAX_RANK];
  dp_dim extent[DP_MAX_RANK];
  bool cut[DP_MAX_RANK];  // false: all elements in order
} dp_slice;

// From the attributes starts, ends, axes, steps, for a tensor of shape x. An extent that depends on the batch must be
// taken whole.
dp_status dp_slice_make(const dp_node *node, const dp_shape *x, dp_slice *slice) DP_MUST_USE;
// Rows of the elements' ways through: the long shape x is the operand's or, with long_operands false, the result's.
void dp_slice_sharding(dp_sharding_rules *rules, const dp_shape *x, bool long_operands);

#ifdef __cplusplus
}
#endif
#endif
