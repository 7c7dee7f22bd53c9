// Keeps elements of type T, an unsigned integer, on one side of a diagonal of the whole matrix, UPPER: 1 for those on
// it and above, 0 for those on it and below. Zeros elsewhere. A thread has WIDTH neighbours of a row: more than 1 only
// where nothing is split. y may be x.
#include "backends/cuda/device/trilu.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)

DP_KERNEL(dp_trilu_arguments) {
  for (dp_i64 i = dp_index() * WIDTH; i < a.count; i += dp_stride() * WIDTH) {
    dp_i64 column = i % a.columns, row = i / a.columns % a.rows;
    if (a.place.rank) {
      column = dp_place_along(&a.place, (int)a.rank - 1, column);
      row = dp_place_along(&a.place, (int)a.rank - 2, row);
    }
    LOCAL(vector) v;
    const dp_i64 off = column - row - a.diagonal;  // of the first element from the diagonal
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) v.e[l] = 0;
    if (UPPER ? off + WIDTH > 0 : off <= 0) v = LOCAL(load)((const T *)a.x + i, a.aligned);
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) v.e[l] = (UPPER ? off + l >= 0 : off + l <= 0) ? v.e[l] : (T)0;
    LOCAL(store)((T *)a.y + i, v, a.aligned);
  }
}
