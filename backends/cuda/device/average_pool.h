// By what a mean of AveragePool is divided, for functions of the device.
#ifndef DP_BACKENDS_CUDA_DEVICE_AVERAGE_POOL_H
#define DP_BACKENDS_CUDA_DEVICE_AVERAGE_POOL_H

#include "backends/cuda/device/pool_box.h"

// The number of x's elements in window o; if PADDING, padding counts too, but not what ceil_mode adds beyond it.
DP_DEVICE double dp_average_count(const I *o) {
  if (!PADDING) {
    const dp_pool_box box = dp_pool_box_of(o);
    return dp_pool_taps(&box);
  }
  double count = 1;
  DP_UNROLL
  for (int d = 0; d < 3; d++) {
    const I room = dp_pool_x(d) + dp_pool_pad_end(d) - (o[d] * dp_pool_stride(d) - dp_pool_pad(d));
    const I taps = (room + dp_pool_dilation(d) - 1) / dp_pool_dilation(d);
    const bool whole = dp_pool_is_inside(d, dp_pool_pad(d), dp_pool_pad_end(d)) || taps > dp_pool_kernel(d);
    count *= (double)(whole ? dp_pool_kernel(d) : taps);
  }
  return count;
}

#endif
