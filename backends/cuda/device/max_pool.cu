// MaxPool over type T, a window for each thread. NaN counts as the largest; an empty window gives LEAST.
#include "backends/cuda/device/pool_box.h"

// The index in the whole operand of element `index` of a plane.
DP_DEVICE dp_i64 LOCAL(whole)(const dp_pool_dim *dim, dp_i64 i) {
  return (i / dim->unit / dim->mine * dim->k + dim->low + i / dim->unit % dim->mine) * dim->unit + i % dim->unit;
}

DP_DEVICE dp_i64 LOCAL(index)(const dp_pool_arguments *a, dp_i64 plane, I index) {
  const dp_i64 n = LOCAL(whole)(&a->dims[0], plane / a->channels), c = LOCAL(whole)(&a->dims[1], plane % a->channels);
  const dp_i64 begin = (n * a->whole_channels + c) * dp_pool_x_plane();
  if (!a->by_columns) return begin + index;
  const I x1 = dp_pool_x(1), x2 = dp_pool_x(2);
  return begin + index / (x1 * x2) + dp_pool_x(0) * (index / x2 % x1 + x1 * (index % x2));
}

DP_KERNEL(dp_pool_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  I o[3];
  const dp_i64 plane = dp_pool_place_in_y(i, o);
  const T *x = (const T *)a.x + dp_pool_x_begin(plane);
  const dp_pool_box box = dp_pool_box_of(o);
  W most = LEAST;
  I found = -1;
  DP_POOL_EACH_TAP(box, tap) {
    const W value = GET(x[(dp_i64)tap * NEIGHBOURS]);
    if (found < 0 || DP_POOL_LARGER(value, most)) {
      most = value;
      found = tap;
    }
  }
  ((T *)a.result)[i] = PUT(most);
  if (a.indices) a.indices[i] = LOCAL(index)(&a, plane, found < 0 ? 0 : found);
}
