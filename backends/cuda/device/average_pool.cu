// AveragePool over type T, a window for each thread. Sums are taken in float64, in row-major order.
#include "backends/cuda/device/average_pool.h"

DP_KERNEL(dp_pool_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  I o[3];
  const T *x = (const T *)a.x + dp_pool_x_begin(dp_pool_place_in_y(i, o));
  const dp_pool_box box = dp_pool_box_of(o);
  const double count = dp_average_count(o);
  double sum = 0;
  DP_POOL_EACH_TAP(box, tap) sum += (double)GET(x[(dp_i64)tap * NEIGHBOURS]);
  ((T *)a.result)[i] = PUT(count > 0 ? sum / count : 0);
}
