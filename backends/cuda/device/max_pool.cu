// MaxPool over type T, a window for each thread. NaN counts as the largest; an empty window gives LEAST.
#include "backends/cuda/device/pool_box.h"

// The index in the whole operand of element `index` of a plane.
DP_DEVICE dp_i64 LOCAL(whole)(const dp_pool_dim *dim, dp_i64 i) {
  return (i / dim->unit / dim->mine * dim->k + dim->low + i / dim->unit % dim->mine) * dim->unit + i % dim->unit;
}

DP_DEVICE dp_i64 LOCAL(index)(const dp_pool_arguments *a, dp_i64 plane, dp_i64 index) {
  const dp_device_window *w = &a->window;
  const dp_i64 n = LOCAL(whole)(&a->dims[0], plane / a->channels), c = LOCAL(whole)(&a->dims[1], plane % a->channels);
  const dp_i64 begin = (n * a->whole_channels + c) * w->x[0] * w->x[1] * w->x[2];
  if (!a->by_columns) return begin + index;
  return begin + index / (w->x[1] * w->x[2]) + w->x[0] * (index / w->x[2] % w->x[1] + w->x[1] * (index % w->x[2]));
}

DP_KERNEL(dp_pool_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  const dp_device_window *w = &a.window;
  dp_i64 o[3], found = 0;
  const dp_i64 plane = dp_pool_place(w->y, i, o);
  const T *x = (const T *)a.x + plane * w->x[0] * w->x[1] * w->x[2];
  const dp_pool_box box = dp_pool_box_of(w, o);
  const dp_i64 taps = dp_pool_taps(&box);
  W most = LEAST;
  for (dp_i64 t = 0; t < taps; t++) {
    const dp_i64 at = dp_pool_tap(w, &box, t);
    const W value = GET(x[at]);
    if (t && !(value > most || (IS_NAN(value) && !IS_NAN(most)))) continue;
    most = value;
    found = at;
  }
  ((T *)a.result)[i] = PUT(most);
  if (a.indices) a.indices[i] = LOCAL(index)(&a, plane, found);
}
