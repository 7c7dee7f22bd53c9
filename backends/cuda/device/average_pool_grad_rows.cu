// The gradient of AveragePool over type T in NHWC, VECTOR channels of an element of dx for each thread, as
// average_pool_grad.cu computes them.
#include "backends/cuda/device/average_pool.h"
#include "backends/cuda/device/pool_vector.h"

DP_KERNEL(dp_pool_arguments) {
  const dp_i64 i = dp_index();
  if (i * VECTOR >= a.count) return;
  const dp_i64 pixel = i / VECTORS, n = pixel / dp_pool_x_plane();
  const I place = (I)(pixel - n * dp_pool_x_plane()), row = place / dp_pool_x(2), column = place % dp_pool_x(2);
  const LOCAL(vector) *dy = (const LOCAL(vector) *)a.dy + n * dp_pool_y_plane() * VECTORS + i % VECTORS;
  W sum[VECTOR] = {0};
  DP_UNROLL
  for (int t = (int)(dp_pool_kernel(1) * dp_pool_kernel(2)) - 1; t >= 0; t--) {
    const I o[] = {0, dp_pool_window(1, row, t / dp_pool_kernel(2)), dp_pool_window(2, column, t % dp_pool_kernel(2))};
    if (o[1] < 0 || o[2] < 0) continue;
    const W count = (W)dp_average_count(o);
    const LOCAL(vector) held = dy[(dp_i64)dp_pool_y_at(0, o[1], o[2]) * VECTORS];
    DP_UNROLL
    for (int v = 0; v < VECTOR; v++) sum[v] += count > 0 ? GET(held.e[v]) / count : 0;
  }
  LOCAL(vector) made;
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) made.e[v] = PUT(sum[v]);
  ((LOCAL(vector) *)a.result)[i] = made;
}
