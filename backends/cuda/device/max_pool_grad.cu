// The gradient of MaxPool over type T, an element of dx for each thread: the sum of dy over the windows of which it is
// the first largest element, in their order.
#include "backends/cuda/device/pool_box.h"

// The index in plane x of the window's first largest element; NaN counts as the largest.
DP_DEVICE dp_i64 LOCAL(largest)(const dp_device_window *w, const dp_i64 *o, const T *x) {
  const dp_pool_box box = dp_pool_box_of(w, o);
  const dp_i64 taps = dp_pool_taps(&box);
  dp_i64 best = dp_pool_tap(w, &box, 0);
  for (dp_i64 t = 1; t < taps; t++) {
    const dp_i64 at = dp_pool_tap(w, &box, t);
    const W value = GET(x[at]), most = GET(x[best]);
    if (value > most || (IS_NAN(value) && !IS_NAN(most))) best = at;
  }
  return best;
}

DP_KERNEL(dp_pool_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  const dp_device_window *w = &a.window;
  dp_i64 at[3], first[3], end[3], o[3];
  const dp_i64 plane = dp_pool_place(w->x, i, at), own = (at[0] * w->x[1] + at[1]) * w->x[2] + at[2];
  const T *x = (const T *)a.x + plane * w->x[0] * w->x[1] * w->x[2];
  const T *dy = (const T *)a.dy + plane * w->y[0] * w->y[1] * w->y[2];
  for (int d = 0; d < 3; d++) dp_pool_windows(w, d, at[d], &first[d], &end[d]);
  W sum = 0;
  for (o[0] = first[0]; o[0] < end[0]; o[0]++)
    for (o[1] = first[1]; o[1] < end[1]; o[1]++)
      for (o[2] = first[2]; o[2] < end[2]; o[2]++)
        if (dp_pool_covers(w, o, at) && LOCAL(largest)(w, o, x) == own) sum += GET(dy[dp_pool_window(w, o)]);
  ((T *)a.result)[i] = PUT(sum);
}
