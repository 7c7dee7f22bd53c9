// The gradient of a convolution's weights over type T, an element of dw for each thread: a sum over all windows. Sums
// are taken in float64, sample by sample.
#include "backends/cuda/device/conv.h"

// The sum over one sample of products of dy with what tap t of the windows covers.
DP_DEVICE double LOCAL(sum)(const dp_conv_arguments *a, const dp_i64 *t, const T *x, const T *dy) {
  const dp_device_window *w = &a->window;
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
        if (inside) sum += (double)GET(dy[to * a->y_strides.place]) * (double)GET(x[from * a->x_strides.place]);
      }
  return sum;
}

DP_KERNEL(dp_conv_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  const dp_device_window *w = &a.window;
  const dp_i64 taps = w->kernel[0] * w->kernel[1] * w->kernel[2];
  dp_i64 t[3], rest = i;
  for (int d = 2; d >= 0; d--) {
    t[d] = rest % w->kernel[d];
    rest /= w->kernel[d];
  }
  const dp_i64 m = rest / a.x_group, c = rest % a.x_group, channel = m / a.y_group * a.x_group + c;
  double sum = 0;
  for (dp_i64 n = 0; n < a.samples; n++)
    sum += LOCAL(sum)(&a, t, (const T *)a.x + n * a.x_strides.sample + channel * a.x_strides.channel,
                      (const T *)a.y + n * a.y_strides.sample + m * a.y_strides.channel);
  ((T *)a.w)[m * a.w_strides.sample + c * a.w_strides.channel + i % taps * a.w_strides.place] = PUT(sum);
}
