// Gathers elements of type T by indices of type I along one dim; zeros for elements of other devices.
#include "backends/cuda/device/elements.h"

DP_KERNEL(dp_elements_arguments) {
  for (dp_i64 i = dp_index(); i < a.count; i += dp_stride()) {
    const dp_i64 index = dp_index_here(&a.dim, (dp_i64)((const I *)a.indices)[i], i);
    ((T *)a.y)[i] = index < 0 ? (T)0 : ((const T *)a.x)[dp_elements_line(&a, i) + index * a.data_inner];
  }
}
