// Gather and its gradient.
#ifndef DP_BACKENDS_CUDA_DEVICE_GATHER_H
#define DP_BACKENDS_CUDA_DEVICE_GATHER_H

#include "backends/cuda/device/index.h"

enum { DP_GATHER_COLUMNS = 4 };  // of a thread, in the gradient

// data (outer, here, inner); gathered (outer, count, inner).
typedef struct {
  long long outer, here, inner, count;
  dp_index_dim dim;
  const void *indices;
  const void *x;
  void *y;
} dp_gather_arguments;

#endif
