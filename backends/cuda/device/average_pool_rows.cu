// AveragePool over type T in NHWC, VECTOR channels of a window for each thread, as average_pool.cu computes them.
#include "backends/cuda/device/average_pool.h"
#include "backends/cuda/device/pool_vector.h"

DP_KERNEL(dp_pool_arguments) {
  const dp_i64 i = dp_index();
  if (i * VECTOR >= a.count) return;
  const dp_i64 window = i / VECTORS, n = window / dp_pool_y_plane();
  const I place = (I)(window - n * dp_pool_y_plane()), o[] = {0, place / dp_pool_y(2), place % dp_pool_y(2)};
  const LOCAL(vector) *x = (const LOCAL(vector) *)a.x + n * dp_pool_x_plane() * VECTORS + i % VECTORS;
  const dp_pool_box box = dp_pool_box_of(o);
  const double count = dp_average_count(o);
  double sum[VECTOR] = {0};
  DP_POOL_EACH_TAP(box, tap) {
    const LOCAL(vector) held = x[(dp_i64)tap * VECTORS];
    DP_UNROLL
    for (int v = 0; v < VECTOR; v++) sum[v] += (double)GET(held.e[v]);
  }
  LOCAL(vector) made;
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) made.e[v] = PUT(count > 0 ? sum[v] / count : 0);
  ((LOCAL(vector) *)a.result)[i] = made;
}
