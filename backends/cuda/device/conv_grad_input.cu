// The gradient of a convolution's operand over type T, an element of dx for each thread: a sum over the windows that
// cover it. Sums are taken in float64, channel by channel and tap by tap.
#include "backends/cuda/device/conv.h"

// The sum over one channel of dy and the taps of w that belong to it.
DP_DEVICE double LOCAL(sum)(const dp_conv_arguments *a, const dp_i64 *at, const T *dy, const T *taps) {
  const dp_device_window *w = &a->window;
  double sum = 0;
  dp_i64 tap = 0, t[3];
  for (t[0] = 0; t[0] < w->kernel[0]; t[0]++)
    for (t[1] = 0; t[1] < w->kernel[1]; t[1]++)
      for (t[2] = 0; t[2] < w->kernel[2]; t[2]++, tap++) {
        dp_i64 from = 0;
        int inside = 1;
        for (int d = 0; d < 3; d++) {
          const dp_i64 distance = at[d] + w->pad[d] - t[d] * w->dilation[d], o = distance / w->stride[d];
          inside &= distance >= 0 && o * w->stride[d] == distance && o < w->y[d];
          from = from * w->y[d] + o;
        }
        if (inside) sum += (double)GET(taps[tap * a->w_strides.place]) * (double)GET(dy[from * a->y_strides.place]);
      }
  return sum;
}

DP_KERNEL(dp_conv_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  const dp_device_window *w = &a.window;
  const dp_i64 x_plane = w->x[0] * w->x[1] * w->x[2];
  dp_i64 at[3], rest = i;
  for (int d = 2; d >= 0; d--) {
    at[d] = rest % w->x[d];
    rest /= w->x[d];
  }
  const dp_i64 channel = rest % a.x_channels, n = rest / a.x_channels;
  const dp_i64 first = channel / a.x_group * a.y_group, c = channel % a.x_group;
  const T *dy = (const T *)a.y + n * a.y_strides.sample, *weights = (const T *)a.w + c * a.w_strides.channel;
  double sum = 0;
  for (dp_i64 m = first; m < first + a.y_group; m++)
    sum += LOCAL(sum)(&a, at, dy + m * a.y_strides.channel, weights + m * a.w_strides.sample);
  ((T *)a.x)[n * a.x_strides.sample + channel * a.x_strides.channel + i % x_plane * a.x_strides.place] = PUT(sum);
}
