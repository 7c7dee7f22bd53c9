// The gradient of AveragePool over type T, an element of dx for each thread: the sum of what the windows that cover it
// give to each of their elements, in their order.
#include "backends/cuda/device/average_pool.h"

DP_KERNEL(dp_pool_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  const dp_device_window *w = &a.window;
  dp_i64 at[3], first[3], end[3], o[3];
  const T *dy = (const T *)a.dy + dp_pool_place(w->x, i, at) * w->y[0] * w->y[1] * w->y[2];
  for (int d = 0; d < 3; d++) dp_pool_windows(w, d, at[d], &first[d], &end[d]);
  W sum = 0;
  for (o[0] = first[0]; o[0] < end[0]; o[0]++)
    for (o[1] = first[1]; o[1] < end[1]; o[1]++)
      for (o[2] = first[2]; o[2] < end[2]; o[2]++) {
        if (!dp_pool_covers(w, o, at)) continue;
        const dp_pool_box box = dp_pool_box_of(w, o);
        const double count = dp_average_count(w, &box, o, a.padding != 0);
        sum += (W)(count > 0 ? (double)GET(dy[dp_pool_window(w, o)]) / count : 0);
      }
  ((T *)a.result)[i] = PUT(sum);
}
