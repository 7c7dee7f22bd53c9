// Conversions between the type of elements in memory and the one that they are computed in.
#ifndef DP_BACKENDS_CUDA_DEVICE_CONVERT_H
#define DP_BACKENDS_CUDA_DEVICE_CONVERT_H

typedef struct {
  long long count;
  const void *x;
  void *y;
} dp_convert_arguments;

#endif
