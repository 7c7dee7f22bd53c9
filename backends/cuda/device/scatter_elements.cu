// Applies updates of type T to y, of type S, where indices of type I say along one dim: COMBINE(was, update). U is the
// type in which S is computed. A line of indices along that dim meets no other line's elements, so a thread applies a
// line's updates in their order.
#include "backends/cuda/device/elements.h"

DP_KERNEL(dp_elements_arguments) {
  for (dp_i64 line = dp_index(); line < a.count; line += dp_stride()) {
    const dp_i64 first = line / a.inner * a.length * a.inner + line % a.inner;
    S *y = (S *)a.y + dp_elements_line(&a, first);
    for (dp_i64 k = 0; k < a.length; k++) {
      const dp_i64 i = first + k * a.inner, index = dp_index_here(&a.dim, (dp_i64)((const I *)a.indices)[i], i);
      if (index < 0) continue;
      const S was = y[index * a.data_inner], update = (S)GET(((const T *)a.x)[i]);
      y[index * a.data_inner] = (S)(COMBINE(was, update));
    }
  }
}
