// Adds slices of type T where indices of type I say, in their order. A block owns one slice of the result and looks for
// its indices, so that nobody else adds to it. Blocks are (outer, here).
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/gather.h"

DP_BLOCK_KERNEL(dp_gather_arguments) {
  DP_SHARED unsigned char mine[DP_BLOCK_MOST];
  DP_SHARED int found;
  const int t = dp_thread(), n = dp_threads();
  const dp_i64 outer = dp_block() / a.here, slice = dp_block() % a.here;
  const T *dy = (const T *)a.x + outer * a.count * a.inner;
  T *dx = (T *)a.y + dp_block() * a.inner;
  for (dp_i64 column = t; column < a.inner; column += n) dx[column] = 0;
  for (dp_i64 first = 0; first < a.count; first += n) {
    const dp_i64 j = first + t;
    if (t == 0) found = 0;
    dp_barrier();
    mine[t] = j < a.count && dp_index_here(&a.dim, (dp_i64)((const I *)a.indices)[j], j) == slice;
    if (mine[t]) found = 1;
    dp_barrier();
    if (found) {
      for (dp_i64 column = t; column < a.inner; column += n) {
        T sum = dx[column];
        for (int k = 0; k < n; k++)
          if (mine[k]) sum += dy[(first + k) * a.inner + column];
        dx[column] = sum;
      }
    }
    dp_barrier();  // before the next indices
  }
}
