// By what a mean of AveragePool is divided, for functions of the device.
#ifndef DP_BACKENDS_CUDA_DEVICE_AVERAGE_POOL_H
#define DP_BACKENDS_CUDA_DEVICE_AVERAGE_POOL_H

#include "backends/cuda/device/pool_box.h"

// The number of x's elements in window o; with `padding`, padding counts too, but not what ceil_mode adds beyond it.
DP_DEVICE double dp_average_count(const dp_device_window *w, const dp_pool_box *box, const dp_i64 *o, int padding) {
  if (!padding) return (double)dp_pool_taps(box);
  double count = 1;
  for (int d = 0; d < 3; d++) {
    const dp_i64 room = w->x[d] + w->pad_end[d] - (o[d] * w->stride[d] - w->pad[d]);
    const dp_i64 taps = (room + w->dilation[d] - 1) / w->dilation[d];
    count *= (double)(taps < w->kernel[d] ? taps : w->kernel[d]);
  }
  return count;
}

#endif
