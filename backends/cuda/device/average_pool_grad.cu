// The gradient of AveragePool over type T, an element of dx for each thread: the sum of what the windows that cover it
// give to each of their elements, in their order. Quotients are W's: a float64 one of two floats rounds to the same.
#include "backends/cuda/device/average_pool.h"

DP_KERNEL(dp_pool_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  I at[3];
  const T *dy = (const T *)a.dy + dp_pool_y_begin(dp_pool_place_in_x(i, at));
  W sum = 0;
  for (I t0 = dp_pool_kernel(0) - 1; t0 >= 0; t0--)
    for (I t1 = dp_pool_kernel(1) - 1; t1 >= 0; t1--)
      for (I t2 = dp_pool_kernel(2) - 1; t2 >= 0; t2--) {
        const I o[] = {dp_pool_window(0, at[0], t0), dp_pool_window(1, at[1], t1), dp_pool_window(2, at[2], t2)};
        if (o[0] < 0 || o[1] < 0 || o[2] < 0) continue;
        const W count = (W)dp_average_count(o);
        sum += count > 0 ? GET(dy[(dp_i64)dp_pool_y_at(o[0], o[1], o[2]) * NEIGHBOURS]) / count : 0;
      }
  ((T *)a.result)[i] = PUT(sum);
}
