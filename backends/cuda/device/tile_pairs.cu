// Copies elements as tiles.cu does, in pairs of neighbours: two of a column of the tile are read at once, and two of a
// row are written, for which two pairs change elements.
#include "backends/cuda/device/strided.h"
#include "backends/cuda/device/vectors.h"

enum { DP_PAIRS_SIDE = 2 * DP_STRIDED_TILE, DP_PAIRS_ROW = DP_STRIDED_TILE + 1 };

DP_VECTOR(LOCAL(pair), LOCAL(load), LOCAL(store), T, 2)

DP_BLOCK_KERNEL(dp_strided_arguments) {
  DP_SHARED LOCAL(pair) tile[DP_PAIRS_SIDE * DP_PAIRS_ROW];
  dp_i64 from = 0, to = 0, rows = 0, columns = 0;
  INDEX rest = (INDEX)dp_block();
  for (int d = RANK - 1; d >= 0; d--) {
    const dp_i64 step = d < RANK - 2 ? 1 : DP_PAIRS_SIDE, steps = (a.extents[d] + step - 1) / step;
    const dp_i64 first = (dp_i64)(rest % (INDEX)steps) * step;
    rest /= (INDEX)steps;
    from += first * a.from_strides[d];
    to += first * a.to_strides[d];
    if (d == RANK - 2) rows = a.extents[d] - first;
    if (d == RANK - 1) columns = a.extents[d] - first;
  }
  for (int k = dp_thread(); k < DP_PAIRS_SIDE * DP_STRIDED_TILE; k += dp_threads()) {
    const int i = k % DP_STRIDED_TILE, j = k / DP_STRIDED_TILE;
    if (2 * i < rows && j < columns)
      tile[j * DP_PAIRS_ROW + i] =
          LOCAL(load)((const T *)a.from + from + 2 * i + j * a.from_strides[RANK - 1], a.aligned);
  }
  dp_barrier();
  for (int k = dp_thread(); k < DP_STRIDED_TILE * DP_STRIDED_TILE; k += dp_threads()) {
    const int i = k / DP_STRIDED_TILE, j = k % DP_STRIDED_TILE;
    if (2 * i >= rows || 2 * j >= columns) continue;
    const LOCAL(pair) p = tile[2 * j * DP_PAIRS_ROW + i], q = tile[(2 * j + 1) * DP_PAIRS_ROW + i];
    LOCAL(pair) row;
    T *y = (T *)a.to + to + 2 * i * a.to_strides[RANK - 2] + 2 * j;
    row.e[0] = p.e[0];
    row.e[1] = q.e[0];
    LOCAL(store)(y, row, a.aligned);
    row.e[0] = p.e[1];
    row.e[1] = q.e[1];
    LOCAL(store)(y + a.to_strides[RANK - 2], row, a.aligned);
  }
}
