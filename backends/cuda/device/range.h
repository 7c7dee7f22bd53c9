// Range.
#ifndef DP_BACKENDS_CUDA_DEVICE_RANGE_H
#define DP_BACKENDS_CUDA_DEVICE_RANGE_H

#include "backends/cuda/device/place.h"

typedef struct {
  dp_place place;
  long long count;
  long long aligned;                // whether y can be written by vectors
  unsigned long long start, delta;  // modulo 2^64
  void *y;
} dp_range_arguments;

#endif
