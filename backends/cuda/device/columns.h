// Arguments of columns.cu.
#ifndef DP_BACKENDS_CUDA_DEVICE_COLUMNS_H
#define DP_BACKENDS_CUDA_DEVICE_COLUMNS_H

#include "backends/cuda/device/window.h"

enum { DP_COLUMNS_LANES = 4 };  // windows of a thread

// x (samples, channels, ...), columns (channels, taps, row). A row has samples x windows elements, and zeros up to its
// end, which is a multiple of DP_COLUMNS_LANES. x and columns have less than 2^31 elements.
typedef struct {
  const void *x;
  void *columns;
  long long samples, channels, row;
  dp_device_window window;
} dp_columns_arguments;

#endif
