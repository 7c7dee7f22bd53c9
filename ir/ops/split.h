// Where Split divides. For kernels too.
#ifndef DP_IR_OPS_SPLIT_H
#define DP_IR_OPS_SPLIT_H

#include "ir/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

// The extents of the node's results along the divided dim, whose extent is `extent`.
dp_status dp_split_sizes(const dp_node *node, dp_dim extent, dp_dim sizes[DP_MAX_OPERANDS]) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
