// Rows for a dim that consists of several equal blocks in sequence: what Concat builds, and Split and Slice take apart.
#ifndef DP_IR_OPS_BLOCKS_H
#define DP_IR_OPS_BLOCKS_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// Rows in which dim `dim` of the short tensors, of extent `extent`, is split, and in the long ones, `count` times as
// long there, every block is split the same way. Operands are long and results short, or the reverse.
void dp_blocks_sharding(dp_sharding_rules *rules, int dim, dp_dim extent, int64_t count, bool long_operands);

#ifdef __cplusplus
}
#endif
#endif
