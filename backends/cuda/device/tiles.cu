// Copies elements of type T along RANK dims, at least two, of which the last but one is contiguous where they come from
// and the last where they go: a block for each tile of both, so that neighbours read and write neighbours. INDEX is an
// unsigned type that holds the number of blocks.
#include "backends/cuda/device/strided.h"

enum { DP_TILE_ROW = DP_STRIDED_TILE + 1 };  // one more, so that a column lies in different banks

DP_BLOCK_KERNEL(dp_strided_arguments) {
  DP_SHARED T tile[DP_STRIDED_TILE * DP_TILE_ROW];
  dp_i64 first[RANK], from = 0, to = 0;
  INDEX rest = (INDEX)dp_block();
  for (int d = RANK - 1; d >= 0; d--) {
    const dp_i64 step = d < RANK - 2 ? 1 : DP_STRIDED_TILE, steps = (a.extents[d] + step - 1) / step;
    first[d] = (dp_i64)(rest % (INDEX)steps) * step;
    rest /= (INDEX)steps;
    from += first[d] * a.from_strides[d];
    to += first[d] * a.to_strides[d];
  }
  const dp_i64 rows = a.extents[RANK - 2] - first[RANK - 2], columns = a.extents[RANK - 1] - first[RANK - 1];
  for (int k = dp_thread(); k < DP_STRIDED_TILE * DP_STRIDED_TILE; k += dp_threads()) {
    const int i = k % DP_STRIDED_TILE, j = k / DP_STRIDED_TILE;
    if (i < rows && j < columns)
      tile[j * DP_TILE_ROW + i] = ((const T *)a.from)[from + i + j * a.from_strides[RANK - 1]];
  }
  dp_barrier();
  for (int k = dp_thread(); k < DP_STRIDED_TILE * DP_STRIDED_TILE; k += dp_threads()) {
    const int i = k / DP_STRIDED_TILE, j = k % DP_STRIDED_TILE;
    if (i < rows && j < columns) ((T *)a.to)[to + i * a.to_strides[RANK - 2] + j] = tile[j * DP_TILE_ROW + i];
  }
}
