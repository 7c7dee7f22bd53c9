// WIDENS: reads elements of type T as numbers of type W. Else rounds such numbers to elements.
#include "backends/cuda/device/convert.h"

DP_KERNEL(dp_convert_arguments) {
  for (dp_i64 i = dp_index(); i < a.count; i += dp_stride()) {
    if (WIDENS)
      ((W *)a.y)[i] = GET(((const T *)a.x)[i]);
    else
      ((T *)a.y)[i] = PUT(((const W *)a.x)[i]);
  }
}
