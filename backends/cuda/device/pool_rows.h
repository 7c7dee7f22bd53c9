// Maxima in NHWC, VECTOR neighbouring channels for each thread: windows of two dims that are not dilated.
#ifndef DP_BACKENDS_CUDA_DEVICE_POOL_ROWS_H
#define DP_BACKENDS_CUDA_DEVICE_POOL_ROWS_H

#include "backends/cuda/device/pool_box.h"
#include "backends/cuda/device/pool_vector.h"

// Window (o1, o2) of each channel: its largest element, and the number of the first tap that has it; NaN counts as the
// largest. LEAST and -1 if the window has no element. x: where the sample's first pixel has these channels. Taps
// outside of x are read at its edge, so that no load waits for a branch, and do not count.
DP_DEVICE void LOCAL(largest)(const LOCAL(vector) * x, int o1, int o2, W *most, int *best) {
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) {
    most[v] = LEAST;
    best[v] = -1;
  }
  DP_UNROLL
  for (int t = 0; t < dp_pool_kernel(1) * dp_pool_kernel(2); t++) {
    const int row = o1 * dp_pool_stride(1) - dp_pool_pad(1) + t / dp_pool_kernel(2), rows = dp_pool_x(1);
    const int column = o2 * dp_pool_stride(2) - dp_pool_pad(2) + t % dp_pool_kernel(2), columns = dp_pool_x(2);
    const int inside = row >= 0 && row < rows && column >= 0 && column < columns;
    const int near_row = row < 0 ? 0 : row < rows ? row : rows - 1;
    const int near_column = column < 0 ? 0 : column < columns ? column : columns - 1;
    const LOCAL(vector) held = x[(dp_i64)(near_row * columns + near_column) * VECTORS];
    DP_UNROLL
    for (int v = 0; v < VECTOR; v++) {
      const W value = GET(held.e[v]);
      if (inside & ((best[v] < 0) | (!(value <= most[v]) & !IS_NAN(most[v])))) {
        most[v] = value;
        best[v] = t;
      }
    }
  }
}

#endif
