// Which extents Shape gives. For kernels too.
#ifndef DP_IR_OPS_SHAPE_H
#define DP_IR_OPS_SHAPE_H

#include "ir/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

// Dims [*from, *to) of an operand of that rank; none when to is not after from.
void dp_shape_range(const dp_node *node, int rank, int *from, int *to);

#ifdef __cplusplus
}
#endif
#endif
