// What each tap of each window covers, over type T: the columns of a convolution, a row of memory for each channel and
// tap. A thread has some neighbouring windows of one channel, all taps: it works out once where these windows begin.
#include "backends/cuda/device/columns.h"

#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(lanes), LOCAL(load), LOCAL(store), T, DP_COLUMNS_LANES)

// A window: its sample, and its place in y.
typedef struct {
  dp_u32 sample, o[3];
} LOCAL(window);

DP_DEVICE void LOCAL(next)(LOCAL(window) * at, const dp_u32 *y) {
  for (int d = 2; d >= 0; d--) {
    if (++at->o[d] < y[d]) return;
    at->o[d] = 0;
  }
  at->sample++;
}

// Where tap (t0, t1, 0) of a window is: the row of x along the last dim, and the place there. Places before the first
// element are past the last one, as numbers without a sign; those of a row that is not there, or of no sample, too.
typedef struct {
  dp_u32 row, place;
} LOCAL(origin);

DP_DEVICE LOCAL(origin)
    LOCAL(origin_of)(const dp_columns_arguments *a, const LOCAL(window) * at, dp_u32 channel, dp_u32 t0, dp_u32 t1) {
  const dp_device_window *w = &a->window;
  const dp_u32 x0 = (dp_u32)w->x[0], x1 = (dp_u32)w->x[1], x2 = (dp_u32)w->x[2];
  const dp_u32 i = at->o[0] * (dp_u32)w->stride[0] - (dp_u32)w->pad[0] + t0 * (dp_u32)w->dilation[0];
  const dp_u32 j = at->o[1] * (dp_u32)w->stride[1] - (dp_u32)w->pad[1] + t1 * (dp_u32)w->dilation[1];
  const dp_u32 k = at->o[2] * (dp_u32)w->stride[2] - (dp_u32)w->pad[2];
  const int inside = at->sample < (dp_u32)a->samples && i < x0 && j < x1;
  LOCAL(origin) origin;
  origin.row = (((at->sample * (dp_u32)a->channels + channel) * x0 + i) * x1 + j) * x2;
  origin.place = inside ? k : x2;
  return origin;
}

DP_KERNEL(dp_columns_arguments) {
  const dp_device_window *w = &a.window;
  const dp_u32 index = (dp_u32)dp_index(), vectors = (dp_u32)a.row / DP_COLUMNS_LANES, channel = index / vectors;
  if (channel >= (dp_u32)a.channels) return;
  const dp_u32 y[3] = {(dp_u32)w->y[0], (dp_u32)w->y[1], (dp_u32)w->y[2]};
  const dp_u32 kernel[3] = {(dp_u32)w->kernel[0], (dp_u32)w->kernel[1], (dp_u32)w->kernel[2]};
  const dp_u32 x2 = (dp_u32)w->x[2], dilation = (dp_u32)w->dilation[2];
  const dp_u32 first = index % vectors * DP_COLUMNS_LANES, plane = y[0] * y[1] * y[2], o = first % plane;
  LOCAL(window) windows[DP_COLUMNS_LANES];
  windows[0].sample = first / plane;
  windows[0].o[0] = o / y[2] / y[1];
  windows[0].o[1] = o / y[2] % y[1];
  windows[0].o[2] = o % y[2];
  DP_UNROLL
  for (int l = 1; l < DP_COLUMNS_LANES; l++) {
    windows[l] = windows[l - 1];
    LOCAL(next)(&windows[l], y);
  }
  T *to = (T *)a.columns + (dp_i64)channel * (kernel[0] * kernel[1] * kernel[2]) * a.row + first;
  for (dp_u32 t0 = 0; t0 < kernel[0]; t0++)
    for (dp_u32 t1 = 0; t1 < kernel[1]; t1++) {
      LOCAL(origin) origins[DP_COLUMNS_LANES];
      DP_UNROLL
      for (int l = 0; l < DP_COLUMNS_LANES; l++) origins[l] = LOCAL(origin_of)(&a, &windows[l], channel, t0, t1);
      for (dp_u32 t2 = 0; t2 < kernel[2]; t2++, to += a.row) {
        LOCAL(lanes) v;
        DP_UNROLL
        for (int l = 0; l < DP_COLUMNS_LANES; l++) {
          const dp_u32 place = origins[l].place + t2 * dilation;
          v.e[l] = place < x2 ? ((const T *)a.x)[origins[l].row + place] : PUT(0);
        }
        LOCAL(store)(to, v, 1);
      }
    }
}
