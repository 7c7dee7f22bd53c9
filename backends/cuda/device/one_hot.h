// OneHot.
#ifndef DP_BACKENDS_CUDA_DEVICE_ONE_HOT_H
#define DP_BACKENDS_CUDA_DEVICE_ONE_HOT_H

// indices (outer, inner), y (outer, depth, inner), values (2): elsewhere, at the index
typedef struct {
  long long count, depth, inner;
  long long aligned;  // whether y is at a multiple of a vector
  const void *indices;
  const void *values;
  void *y;
} dp_one_hot_arguments;

#endif
