// Sets elements of type T, an unsigned integer.
#include "backends/cuda/device/fill.h"

DP_KERNEL(dp_fill_arguments) {
  for (dp_i64 i = dp_index(); i < a.count; i += dp_stride()) ((T *)a.to)[i] = (T)a.element;
}
