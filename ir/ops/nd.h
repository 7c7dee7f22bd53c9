// Positions in a tensor given by several indices at once, in the last dim of another: GatherND, ScatterND.
#ifndef DP_IR_OPS_ND_H
#define DP_IR_OPS_ND_H

#include "ir/ops/compose.h"

#ifdef __cplusplus
extern "C" {
#endif

// The number of dims of data, after the first `batch`, that the indices address; EX_DATAERR when they do not match.
dp_status dp_nd_depth(const dp_node *node, int batch, int *depth) DP_MUST_USE;
// The indices flattened: row-major over dims [batch, batch + depth) of `data`, without the last dim. Negative ones
// count from the end; a row with an index out of range becomes an index out of range.
dp_value *dp_nd_flat(dp_builder *builder, dp_value *indices, const dp_shape *data, int batch, int depth);

#ifdef __cplusplus
}
#endif
#endif
