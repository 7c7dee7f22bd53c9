// The gradient of MaxPool over type T, an element of dx for each thread: the sum of dy over the windows of which it is
// the first largest element, in their order. Every thread searches all windows that cover its element; where blocks can
// keep what they found, max_pool_grad_tiles.cu searches each window once.
#include "backends/cuda/device/pool_box.h"

// Whether element `own` of plane x is the first largest of window o, which covers it.
DP_DEVICE int LOCAL(is_largest)(const I *o, const T *x, I own) {
  const dp_pool_box box = dp_pool_box_of(o);
  const W value = GET(x[(dp_i64)own * NEIGHBOURS]);
  int is_largest = 1;
  DP_POOL_EACH_TAP(box, tap) {
    const W other = GET(x[(dp_i64)tap * NEIGHBOURS]);
    is_largest &= tap < own ? DP_POOL_LARGER(value, other) : !DP_POOL_LARGER(other, value);
  }
  return is_largest;
}

DP_KERNEL(dp_pool_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  I at[3];
  const dp_i64 plane = dp_pool_place_in_x(i, at);
  const T *x = (const T *)a.x + dp_pool_x_begin(plane), *dy = (const T *)a.dy + dp_pool_y_begin(plane);
  const I own = dp_pool_x_at(at[0], at[1], at[2]);
  W sum = 0;
  for (I t0 = dp_pool_kernel(0) - 1; t0 >= 0; t0--)
    for (I t1 = dp_pool_kernel(1) - 1; t1 >= 0; t1--)
      for (I t2 = dp_pool_kernel(2) - 1; t2 >= 0; t2--) {
        const I o[] = {dp_pool_window(0, at[0], t0), dp_pool_window(1, at[1], t1), dp_pool_window(2, at[2], t2)};
        if (o[0] >= 0 && o[1] >= 0 && o[2] >= 0 && LOCAL(is_largest)(o, x, own))
          sum += GET(dy[(dp_i64)dp_pool_y_at(o[0], o[1], o[2]) * NEIGHBOURS]);
      }
  ((T *)a.result)[i] = PUT(sum);
}
