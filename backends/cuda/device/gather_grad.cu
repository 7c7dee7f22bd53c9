// Adds the updates of each slice, of type T, in the order of their indices, a thread for each column of a slice. Sums
// are in type W and are rounded once; where there is no update they are 0.
#include "backends/cuda/device/gather.h"

DP_KERNEL(dp_gather_sum_arguments) {
  const dp_i64 elements = a.outer * a.here * a.inner;
  const dp_u64 places = (1ull << a.shift) - 1;
  for (dp_i64 i = dp_index(); i < elements; i += dp_stride()) {
    const dp_i64 row = i / a.inner, slice = row % a.here, end = a.starts[slice + 1];
    const T *dy = (const T *)a.dy + row / a.here * a.count * a.inner + i % a.inner;
    W sum = 0;
    for (dp_i64 k = a.starts[slice]; k < end; k += DP_GATHER_BATCH) {
      W next[DP_GATHER_BATCH];
      for (int b = 0; b < DP_GATHER_BATCH; b++)
        next[b] = k + b < end ? GET(dy[(dp_i64)(a.keys[k + b] & places) * a.inner]) : 0;
      for (int b = 0; b < DP_GATHER_BATCH; b++) sum += next[b];
    }
    ((T *)a.dx)[i] = PUT(sum);
  }
}
