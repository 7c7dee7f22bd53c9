// Stores a few numbers that the host knows.
#include "backends/cuda/device/shape.h"

DP_KERNEL(dp_shape_arguments) {
  for (dp_i64 i = dp_index(); i < a.count; i += dp_stride()) a.y[i] = a.extents[i];
}
