// Reduces tensors of type T over their sources, in rank order, and writes the result to all targets. A target may be
// one of the sources.
#include "backends/cuda/device/all_reduce.h"
#include "backends/cuda/device/prelude.h"

DP_KERNEL(dp_cuda_all_reduce) {
  for (dp_i64 i = dp_index(); i < a.before[a.tensors]; i += dp_stride()) {
    dp_i64 lo = 0, hi = a.tensors - 1;
    while (lo < hi) {
      dp_i64 middle = (lo + hi + 1) / 2;
      if (a.before[middle] <= i)
        lo = middle;
      else
        hi = middle - 1;
    }
    const dp_i64 at = i - a.before[lo];
    T sum = ((const T *)a.from[lo * a.sources])[at];
    for (dp_i64 s = 1; s < a.sources; s++) {
      const T other = ((const T *)a.from[lo * a.sources + s])[at];
      sum = COMBINE(sum, other);
    }
    for (dp_i64 t = 0; t < a.targets; t++) ((T *)a.to[lo * a.targets + t])[at] = sum;
  }
}
