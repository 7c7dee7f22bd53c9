// One of two values of type T for each element: the second at the index of type I, the first elsewhere. SIGNED: 1 if
// indices may be negative, which counts from the end. An index out of range names no element. INDEX is an unsigned type
// that holds the count.
#include "backends/cuda/device/one_hot.h"

DP_KERNEL(dp_one_hot_arguments) {
  for (dp_i64 i = dp_index(); i < a.count; i += dp_stride()) {
    const INDEX row = (INDEX)i / (INDEX)a.inner, outer = row / (INDEX)a.depth;
    const INDEX at = outer * (INDEX)a.inner + ((INDEX)i - row * (INDEX)a.inner);
    dp_u64 index = (dp_u64)((const I *)a.indices)[at];
    if (SIGNED && (dp_i64)index < 0) index += (dp_u64)a.depth;
    const bool hot = index == (dp_u64)(row - outer * (INDEX)a.depth);
    ((T *)a.y)[i] = ((const T *)a.values)[hot ? 1 : 0];
  }
}
