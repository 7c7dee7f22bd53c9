// The gradient of AveragePool over type T, VECTOR neighbouring elements of a row of dx for each thread, as
// average_pool_grad.cu computes them: windows of two dims that are not dilated. Rows are whole vectors.
#include "backends/cuda/device/average_pool.h"
#include "backends/cuda/device/pool_vector.h"

// dp_pool_window of element first + v of a row. `first` is a multiple of VECTOR: where that is one of the stride, the
// compiler knows for each v and t whether there is such a window.
DP_DEVICE I LOCAL(window)(I first, int v, int t) {
  const I phase = v + dp_pool_pad(2) - t, o = first / dp_pool_stride(2) + phase / dp_pool_stride(2);
  if (VECTOR % dp_pool_stride(2)) return dp_pool_window(2, first + v, t);
  return phase % dp_pool_stride(2) == 0 && o >= 0 && o < dp_pool_y(2) ? o : -1;
}

DP_KERNEL(dp_pool_arguments) {
  const dp_i64 i = dp_index();
  if (i * VECTOR >= a.count) return;
  const dp_i64 row = i / (dp_pool_x(2) / VECTOR), plane = row / dp_pool_x(1);
  const I first = (I)(i - row * (dp_pool_x(2) / VECTOR)) * VECTOR, at = (I)(row - plane * dp_pool_x(1));
  const T *dy = (const T *)a.dy + plane * dp_pool_y_plane();
  W sum[VECTOR] = {0};
  for (int t1 = (int)dp_pool_kernel(1) - 1; t1 >= 0; t1--) {  // unrolled too, large windows' code fits in no cache
    const I o1 = dp_pool_window(1, at, t1);
    if (o1 < 0) continue;
    DP_UNROLL
    for (int t2 = (int)dp_pool_kernel(2) - 1; t2 >= 0; t2--) {
      DP_UNROLL
      for (int v = 0; v < VECTOR; v++) {
        const I o[] = {0, o1, LOCAL(window)(first, v, t2)};
        if (o[2] < 0) continue;
        const W count = (W)dp_average_count(o);
        sum[v] += count > 0 ? GET(dy[dp_pool_y_at(0, o1, o[2])]) / count : 0;
      }
    }
  }
  LOCAL(vector) made;
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) made.e[v] = PUT(sum[v]);
  ((LOCAL(vector) *)a.result)[i] = made;
}
