// Places of a tensor named by several indices at once, in the last dim of a tensor: GatherND, ScatterND.
#ifndef DP_IR_OPS_ND_H
#define DP_IR_OPS_ND_H

#include "ir/ops/compose.h"

#ifdef __cplusplus
extern "C" {
#endif

// How many dims of data, after the first `batch`, the indices name; EX_DATAERR when they do not go together.
dp_status dp_nd_depth(const dp_node *node, int batch, int *depth) DP_MUST_USE;
// The indices as one, counted row-major over dims [batch, batch + depth) of `data`, without the last dim. Negative ones
// count from the end; a row of indices of which one lies outside becomes an index that lies outside.
dp_value *dp_nd_flat(dp_builder *builder, dp_value *indices, const dp_shape *data, int batch, int depth);

#ifdef __cplusplus
}
#endif
#endif
