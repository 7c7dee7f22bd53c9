// The gradient of AveragePool over type T, an element of dx for each thread: the sum of what the windows that cover it
// give to each of their elements, in their order. Quotients are W's: a float64 one of two floats rounds to the same.
#include "backends/cuda/device/average_pool.h"

DP_KERNEL(dp_pool_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  I at[3], o[3];
  const T *dy = (const T *)a.dy + dp_pool_place_in_x(i, at) * dp_pool_y_plane();
  W sum = 0;
  for (I n0 = 0; n0 < dp_pool_covers(0); n0++) {
    o[0] = dp_pool_cover(0, at[0], n0);
    if (dp_pool_tap(0, at[0], o[0]) < 0) continue;
    for (I n1 = 0; n1 < dp_pool_covers(1); n1++) {
      o[1] = dp_pool_cover(1, at[1], n1);
      if (dp_pool_tap(1, at[1], o[1]) < 0) continue;
      for (I n2 = 0; n2 < dp_pool_covers(2); n2++) {
        o[2] = dp_pool_cover(2, at[2], n2);
        if (dp_pool_tap(2, at[2], o[2]) < 0) continue;
        const W count = (W)dp_average_count(o, a.padding != 0);
        sum += count > 0 ? GET(dy[dp_pool_y_at(o[0], o[1], o[2])]) / count : 0;
      }
    }
  }
  ((T *)a.result)[i] = PUT(sum);
}
