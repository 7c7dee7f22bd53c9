// Blocks of H and W to channels and back: shared by DepthToSpace and SpaceToDepth.
#ifndef DP_IR_OPS_SPACE_BLOCKS_H
#define DP_IR_OPS_SPACE_BLOCKS_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// The block size; the operand must be [N, C, H, W], H and W plain numbers.
dp_status dp_space_blocks_check(const dp_node *node, int64_t *block);
// x reshaped to `wide`, its dims permuted by perm, reshaped to y.
dp_value *dp_space_blocks_rearrange(dp_builder *b, dp_value *x, const dp_shape *wide, const int64_t perm[6],
                                    const dp_shape *y);

#ifdef __cplusplus
}
#endif
#endif
