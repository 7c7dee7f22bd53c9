// The gradient of a convolution's weights over type T, an element of dw for each thread: a sum over all windows. Sums
// are taken in float64, sample by sample.
#include "backends/cuda/device/conv.h"

// The sum over one sample of products of dy with what tap t of the windows covers.
DP_DEVICE double LOCAL(sum)(const dp_device_window *w, const dp_i64 *t, const T *x, const T *dy) {
  double sum = 0;
  dp_i64 to = 0, o[3];
  for (o[0] = 0; o[0] < w->y[0]; o[0]++)
    for (o[1] = 0; o[1] < w->y[1]; o[1]++)
      for (o[2] = 0; o[2] < w->y[2]; o[2]++, to++) {
        dp_i64 from = 0;
        int inside = 1;
        for (int d = 0; d < 3; d++) {
          const dp_i64 i = o[d] * w->stride[d] - w->pad[d] + t[d] * w->dilation[d];
          inside &= i >= 0 && i < w->x[d];
          from = from * w->x[d] + i;
        }
        if (inside) sum += (double)GET(dy[to]) * (double)GET(x[from]);
      }
  return sum;
}

DP_KERNEL(dp_conv_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  const dp_device_window *w = &a.window;
  const dp_i64 x_plane = w->x[0] * w->x[1] * w->x[2], y_plane = w->y[0] * w->y[1] * w->y[2];
  dp_i64 t[3], rest = i;
  for (int d = 2; d >= 0; d--) {
    t[d] = rest % w->kernel[d];
    rest /= w->kernel[d];
  }
  const dp_i64 m = rest / a.x_group, channel = m / a.y_group * a.x_group + rest % a.x_group;
  double sum = 0;
  for (dp_i64 n = 0; n < a.samples; n++)
    sum += LOCAL(sum)(w, t, (const T *)a.x + (n * a.x_channels + channel) * x_plane,
                      (const T *)a.y + (n * a.y_channels + m) * y_plane);
  ((T *)a.w)[i] = PUT(sum);
}
