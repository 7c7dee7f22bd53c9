// Convolution over type T, an element of y for each thread. Sums are taken in float64, channel by channel and tap by
// tap.
#include "backends/cuda/device/conv.h"

// The sum over one channel of x and the taps of w that belong to it.
DP_DEVICE double LOCAL(sum)(const dp_device_window *w, const dp_i64 *at, const T *x, const T *taps) {
  double sum = 0;
  dp_i64 tap = 0, t[3];
  for (t[0] = 0; t[0] < w->kernel[0]; t[0]++)
    for (t[1] = 0; t[1] < w->kernel[1]; t[1]++)
      for (t[2] = 0; t[2] < w->kernel[2]; t[2]++, tap++) {
        dp_i64 from = 0;
        int inside = 1;
        for (int d = 0; d < 3; d++) {
          const dp_i64 i = at[d] * w->stride[d] - w->pad[d] + t[d] * w->dilation[d];
          inside &= i >= 0 && i < w->x[d];
          from = from * w->x[d] + i;
        }
        if (inside) sum += (double)GET(taps[tap]) * (double)GET(x[from]);
      }
  return sum;
}

DP_KERNEL(dp_conv_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  const dp_device_window *w = &a.window;
  const dp_i64 x_plane = w->x[0] * w->x[1] * w->x[2], taps = w->kernel[0] * w->kernel[1] * w->kernel[2];
  dp_i64 at[3], rest = i;
  for (int d = 2; d >= 0; d--) {
    at[d] = rest % w->y[d];
    rest /= w->y[d];
  }
  const dp_i64 m = rest % a.y_channels, n = rest / a.y_channels, group = m / a.y_group;
  const T *x = (const T *)a.x + (n * a.x_channels + group * a.x_group) * x_plane;
  const T *weights = (const T *)a.w + m * a.x_group * taps;
  double sum = a.bias ? (double)GET(((const T *)a.bias)[m]) : 0;
  for (dp_i64 c = 0; c < a.x_group; c++) sum += LOCAL(sum)(w, at, x + c * x_plane, weights + c * taps);
  ((T *)a.y)[i] = PUT(sum);
}
