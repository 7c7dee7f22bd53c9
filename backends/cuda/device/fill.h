// Sets all elements of a tensor.
#ifndef DP_BACKENDS_CUDA_DEVICE_FILL_H
#define DP_BACKENDS_CUDA_DEVICE_FILL_H

typedef struct {
  long long count;
  unsigned long long element;  // its bits
  void *to;
} dp_fill_arguments;

#endif
