// Convolution over type T, an element of y for each thread. Sums are taken in float64, channel by channel and tap by
// tap.
#include "backends/cuda/device/conv.h"

// The sum over one channel of x and the taps of w that belong to it.
DP_DEVICE double LOCAL(sum)(const dp_conv_arguments *a, const dp_i64 *at, const T *x, const T *taps) {
  const dp_device_window *w = &a->window;
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
        if (inside) sum += (double)GET(taps[tap * a->w_strides.place]) * (double)GET(x[from * a->x_strides.place]);
      }
  return sum;
}

DP_KERNEL(dp_conv_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  const dp_device_window *w = &a.window;
  const dp_i64 y_plane = w->y[0] * w->y[1] * w->y[2];
  dp_i64 at[3], rest = i;
  for (int d = 2; d >= 0; d--) {
    at[d] = rest % w->y[d];
    rest /= w->y[d];
  }
  const dp_i64 m = rest % a.y_channels, n = rest / a.y_channels, group = m / a.y_group;
  const T *x = (const T *)a.x + n * a.x_strides.sample + group * a.x_group * a.x_strides.channel;
  const T *weights = (const T *)a.w + m * a.w_strides.sample;
  double sum = a.bias ? (double)GET(((const T *)a.bias)[m]) : 0;
  for (dp_i64 c = 0; c < a.x_group; c++)
    sum += LOCAL(sum)(&a, at, x + c * a.x_strides.channel, weights + c * a.w_strides.channel);
  ((T *)a.y)[n * a.y_strides.sample + m * a.y_strides.channel + i % y_plane * a.y_strides.place] = PUT(sum);
}
