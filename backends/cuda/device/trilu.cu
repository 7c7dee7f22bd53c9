// Keeps elements of type T, an unsigned integer, on one side of a diagonal of the whole matrix, UPPER: 1 for those on
// it and above, 0 for those on it and below. Zeros elsewhere. y may be x.
#include "backends/cuda/device/trilu.h"

DP_KERNEL(dp_trilu_arguments) {
  for (dp_i64 i = dp_index(); i < a.count; i += dp_stride()) {
    const dp_i64 column = dp_place_along(&a.place, (int)a.rank - 1, i % a.columns);
    const dp_i64 row = dp_place_along(&a.place, (int)a.rank - 2, i / a.columns % a.rows);
    const bool kept = UPPER ? column - row >= a.diagonal : column - row <= a.diagonal;
    ((T *)a.y)[i] = kept ? ((const T *)a.x)[i] : (T)0;
  }
}
