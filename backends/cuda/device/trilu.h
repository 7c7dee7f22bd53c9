// Trilu.
#ifndef DP_BACKENDS_CUDA_DEVICE_TRILU_H
#define DP_BACKENDS_CUDA_DEVICE_TRILU_H

#include "backends/cuda/device/place.h"

// x, y (matrices, rows, columns)
typedef struct {
  dp_place place;
  long long aligned;  // whether x and y can be moved by vectors
  long long count, rank, rows, columns;
  long long diagonal;
  const void *x;
  void *y;
} dp_trilu_arguments;

#endif
