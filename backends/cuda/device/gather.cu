// Gathers slices of elements of type T by indices of type I; zeros for slices of other devices.
#include "backends/cuda/device/gather.h"

DP_KERNEL(dp_gather_arguments) {
  const dp_i64 count = a.outer * a.count * a.inner;
  for (dp_i64 i = dp_index(); i < count; i += dp_stride()) {
    const dp_i64 row = i / a.inner, at = row % a.count;
    const dp_i64 index = dp_index_here(&a.dim, (dp_i64)((const I *)a.indices)[at], at);
    ((T *)a.y)[i] = index < 0 ? (T)0 : ((const T *)a.x)[(row / a.count * a.here + index) * a.inner + i % a.inner];
  }
}
