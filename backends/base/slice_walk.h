// The path of Slice and its gradient through the long tensor, row by row of the short one.
#ifndef DP_BACKENDS_BASE_SLICE_WALK_H
#define DP_BACKENDS_BASE_SLICE_WALK_H

#include "backends/base/strided_rows.h"

// large, small: the shards of the long and of the short tensor.
dp_status dp_slice_walk_make(const dp_node *node, const dp_local *large, const dp_local *small, dp_strided_rows *walk);

#endif
