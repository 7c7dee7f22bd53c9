// Gathers slices of elements of type T by indices of type I, WIDTH neighbours at a time; zeros for slices of other
// devices. INDEX is an unsigned type that holds the count of vectors.
#include "backends/cuda/device/gather.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)

DP_KERNEL(dp_gather_arguments) {
  const dp_i64 rows = a.outer * a.count, vectors = rows * a.inner;
  for (dp_i64 i = dp_index(); i < vectors; i += dp_stride()) {
    const INDEX row = (INDEX)i / (INDEX)a.inner, within = (INDEX)i - row * (INDEX)a.inner;
    const INDEX outer = a.outer == 1 ? 0 : row / (INDEX)a.count;
    const dp_i64 at = (dp_i64)(row - outer * (INDEX)a.count);
    const dp_i64 index = dp_index_here(&a.dim, (dp_i64)((const I *)a.indices)[at], at);
    LOCAL(vector) v;
    if (index < 0) {
      for (int l = 0; l < WIDTH; l++) v.e[l] = (T)0;
    } else {
      const dp_i64 from = ((dp_i64)outer * a.here + index) * a.inner + (dp_i64)within;
      v = LOCAL(load)((const T *)a.x + from * WIDTH, a.aligned);
    }
    LOCAL(store)((T *)a.y + i * WIDTH, v, a.aligned);
  }
}
