// AveragePool over type T, a window for each thread. Sums are taken in float64, in row-major order.
#include "backends/cuda/device/average_pool.h"

DP_KERNEL(dp_pool_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  const dp_device_window *w = &a.window;
  dp_i64 o[3];
  const T *x = (const T *)a.x + dp_pool_place(w->y, i, o) * w->x[0] * w->x[1] * w->x[2];
  const dp_pool_box box = dp_pool_box_of(w, o);
  const dp_i64 taps = dp_pool_taps(&box);
  const double count = dp_average_count(w, &box, o, a.padding != 0);
  double sum = 0;
  for (dp_i64 t = 0; t < taps; t++) sum += (double)GET(x[dp_pool_tap(w, &box, t)]);
  ((T *)a.result)[i] = PUT(count > 0 ? sum / count : 0);
}
