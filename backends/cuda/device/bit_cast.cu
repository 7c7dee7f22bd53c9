// Copies elements of type T, an unsigned integer; TO_BOOL: 1 to store whether they are not 0. y may be x.
#include "backends/cuda/device/bit_cast.h"

DP_KERNEL(dp_bit_cast_arguments) {
  for (dp_i64 i = dp_index(); i < a.count; i += dp_stride()) {
    const T bits = ((const T *)a.x)[i];
    ((T *)a.y)[i] = TO_BOOL ? (T)(bits != 0) : bits;
  }
}
