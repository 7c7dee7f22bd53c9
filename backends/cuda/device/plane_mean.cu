// Means of planes over type T, a block for each plane. Sums are taken in float64: each thread's elements in order, then
// the threads' sums in pairs.
#include "backends/cuda/device/plane_mean.h"

DP_BLOCK_KERNEL(dp_plane_mean_arguments) {
  DP_SHARED double sums[DP_PLANE_MEAN_THREADS];
  const int thread = dp_thread();
  for (dp_i64 plane = dp_block(); plane < a.planes; plane += dp_blocks()) {
    const T *x = (const T *)a.x + plane * a.elements;
    double sum = 0;
    for (dp_i64 i = thread; i < a.elements; i += DP_PLANE_MEAN_THREADS) sum += (double)GET(x[i]);
    sums[thread] = sum;
    for (int half = DP_PLANE_MEAN_THREADS / 2; half > 0; half /= 2) {
      dp_barrier();
      if (thread < half) sums[thread] += sums[thread + half];
    }
    if (thread == 0) ((T *)a.y)[plane] = PUT(a.divisor > 0 ? sums[0] / a.divisor : 0);
    dp_barrier();
  }
}
