// MaxPool over type T in NHWC, VECTOR channels of a window for each thread.
#include "backends/cuda/device/pool_rows.h"

DP_KERNEL(dp_pool_arguments) {
  const dp_i64 i = dp_index();
  if (i * VECTOR >= a.count) return;
  const dp_i64 window = i / VECTORS, n = window / dp_pool_y_plane();
  const int place = (int)(window - n * dp_pool_y_plane());
  const LOCAL(vector) *x = (const LOCAL(vector) *)a.x + n * dp_pool_x_plane() * VECTORS + i % VECTORS;
  W most[VECTOR];
  int best[VECTOR];
  LOCAL(largest)(x, place / dp_pool_y(2), place % dp_pool_y(2), most, best);
  LOCAL(vector) made;
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) made.e[v] = PUT(most[v]);
  ((LOCAL(vector) *)a.result)[i] = made;
}
