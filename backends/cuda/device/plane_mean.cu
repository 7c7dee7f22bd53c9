// Means of planes over type T, a block for each plane. Sums are taken in float64: each thread's elements in order, then
// the threads' sums.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/plane_mean.h"

DP_BLOCK_KERNEL(dp_plane_mean_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  for (dp_i64 plane = dp_block(); plane < a.planes; plane += dp_blocks()) {
    const T *x = (const T *)a.x + plane * a.elements;
    double sum = 0;
    for (dp_i64 i = dp_thread(); i < a.elements; i += dp_threads()) sum += (double)GET(x[i]);
    sum = dp_block_sum(sum, shared);
    if (dp_thread() == 0) ((T *)a.y)[plane] = PUT(a.divisor > 0 ? sum / a.divisor : 0);
  }
}
