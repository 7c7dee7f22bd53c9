// The path through the long tensor. See slice_walk.h.
#include "backends/base/slice_walk.h"

#include "ir/ops/slice.h"

dp_status dp_slice_walk_make(const dp_node *node, const dp_local *large, const dp_local *small, dp_strided_rows *walk) {
  dp_shape whole = {.rank = large->rank};
  dp_slice s;
  for (int d = 0; d < large->rank; d++) whole.dims[d] = dp_dim_of(large->whole[d]);
  DP_TRY(dp_slice_make(node, &whole, &s));
  *walk = (dp_strided_rows){.rank = large->rank};
  int64_t stride = 1;
  for (int d = large->rank - 1; d >= 0; d--) {
    int64_t start = s.cut[d] ? s.start[d] : 0, length = s.extent[d].offset;
    // In a dim of equal blocks, each block is split among devices. The blocks before this one have its local length.
    if (s.cut[d] && length && small->extents[d] != length) start = start / length * small->extents[d];
    walk->extents[d] = small->extents[d];
    walk->strides[d] = stride * (s.cut[d] ? s.step[d] : 1);
    walk->start += start * stride;
    stride *= large->extents[d];
  }
  if (!walk->rank) *walk = dp_strided_rows_scalar();
  return DP_OK;
}
