// Adds slices of type T where indices of type I say, in their order. A block owns one slice of the result and looks for
// its indices, so that nobody else adds to it. Blocks are (outer, here). Sums are in type W and are rounded once: each
// thread keeps those of a few columns while the block goes through the indices.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/gather.h"

DP_BLOCK_KERNEL(dp_gather_arguments) {
  DP_SHARED unsigned char mine[DP_BLOCK_MOST];
  DP_SHARED int found;
  const int t = dp_thread(), n = dp_threads();
  const dp_i64 outer = dp_block() / a.here, slice = dp_block() % a.here;
  const T *dy = (const T *)a.x + outer * a.count * a.inner;
  T *dx = (T *)a.y + dp_block() * a.inner;
  for (dp_i64 begin = t; begin - t < a.inner; begin += n * DP_GATHER_COLUMNS) {
    W sums[DP_GATHER_COLUMNS];
    for (int c = 0; c < DP_GATHER_COLUMNS; c++) sums[c] = 0;
    for (dp_i64 first = 0; first < a.count; first += n) {
      const dp_i64 j = first + t;
      if (t == 0) found = 0;
      dp_barrier();
      mine[t] = j < a.count && dp_index_here(&a.dim, (dp_i64)((const I *)a.indices)[j], j) == slice;
      if (mine[t]) found = 1;
      dp_barrier();
      for (int k = 0; found && k < n; k++)
        for (int c = 0; mine[k] && c < DP_GATHER_COLUMNS; c++)
          if (begin + c * n < a.inner) sums[c] += GET(dy[(first + k) * a.inner + begin + c * n]);
      dp_barrier();  // before the next indices
    }
    for (int c = 0; c < DP_GATHER_COLUMNS; c++)
      if (begin + c * n < a.inner) dx[begin + c * n] = PUT(sums[c]);
  }
}
