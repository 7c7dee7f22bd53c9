// A row in shared memory, so that it comes from the device's memory once though it is gone through several times. A
// file that includes this has T defined; DP_HOLD defines the function.
#ifndef DP_BACKENDS_CUDA_DEVICE_HELD_H
#define DP_BACKENDS_CUDA_DEVICE_HELD_H

#include "backends/cuda/device/prelude.h"

enum { DP_HELD = 4096 };  // the longest row that is held

// The row's first element, and in *stride how far apart they are: in `held`, (DP_HELD) in DP_SHARED memory, if the row
// fits, else where it was. A thread copies elements dp_thread() + i dp_threads(), and may read these at once and
// others' after a barrier.
#define DP_HOLD(NAME_OF)                                                                  \
  DP_DEVICE const T *NAME_OF(const T *x, dp_i64 length, dp_i64 *stride, T *held) {        \
    if (length > DP_HELD) return x;                                                       \
    for (dp_i64 k = dp_thread(); k < length; k += dp_threads()) held[k] = x[k * *stride]; \
    *stride = 1;                                                                          \
    return held;                                                                          \
  }

#endif
