// The gradient of MaxPool over type T, an element of dx for each thread: the sum of dy over the windows of which it is
// the first largest element, in their order. Every thread searches all windows that cover its element; where blocks can
// keep what they found, max_pool_grad_tiles.cu searches each window once.
#include "backends/cuda/device/pool_box.h"

// Whether element `own` of plane x is the first largest of window o, which covers it.
DP_DEVICE int LOCAL(is_largest)(const I *o, const T *x, I own) {
  const dp_pool_box box = dp_pool_box_of(o);
  const W value = GET(x[own]);
  int is_largest = 1;
  DP_POOL_EACH_TAP(box, tap) {
    const W other = GET(x[tap]);
    is_largest &= tap < own ? DP_POOL_LARGER(value, other) : !DP_POOL_LARGER(other, value);
  }
  return is_largest;
}

DP_KERNEL(dp_pool_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  I at[3];
  const dp_i64 plane = dp_pool_place_in_x(i, at);
  const T *x = (const T *)a.x + plane * dp_pool_x_plane(), *dy = (const T *)a.dy + plane * dp_pool_y_plane();
  const I own = dp_pool_x_at(at[0], at[1], at[2]);
  W sum = 0;
  for (I n0 = 0; n0 < dp_pool_covers(0); n0++)
    for (I n1 = 0; n1 < dp_pool_covers(1); n1++)
      for (I n2 = 0; n2 < dp_pool_covers(2); n2++) {
        const I o[] = {dp_pool_cover(0, at[0], n0), dp_pool_cover(1, at[1], n1), dp_pool_cover(2, at[2], n2)};
        const int covers =
            dp_pool_tap(0, at[0], o[0]) >= 0 && dp_pool_tap(1, at[1], o[1]) >= 0 && dp_pool_tap(2, at[2], o[2]) >= 0;
        if (covers && LOCAL(is_largest)(o, x, own)) sum += GET(dy[dp_pool_y_at(o[0], o[1], o[2])]);
      }
  ((T *)a.result)[i] = PUT(sum);
}
