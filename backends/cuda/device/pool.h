// What functions of pooling share: arguments, and the part of a window that is inside its operand.
#ifndef DP_BACKENDS_CUDA_DEVICE_POOL_H
#define DP_BACKENDS_CUDA_DEVICE_POOL_H

#include "backends/cuda/device/window.h"

// Numbers of a shard's elements along a dim in the whole tensor, as dp_local_to_whole has them.
typedef struct {
  long long unit, mine, k, low;
} dp_pool_dim;

// x (N, C, ...), y (N, C, ...), or their gradients.
typedef struct {
  const void *x, *dy;
  void *result;              // y or dx, of `count` elements
  long long *indices;        // of MaxPool; NULL: nobody wants them
  long long count, padding;  // padding: whether it counts in a mean
  dp_device_window window;
  long long channels, whole_channels;
  dp_pool_dim dims[2];  // N and C, for indices
  long long by_columns;
} dp_pool_arguments;

#endif
