// Sets all elements of a tensor.
#ifndef DP_BACKENDS_CUDA_DEVICE_FILL_H
#define DP_BACKENDS_CUDA_DEVICE_FILL_H

typedef struct {
  long long count;
  unsigned long long element;  // its bits
  long long aligned;           // `to` is a multiple of a vector's bytes
  void *to;
} dp_fill_arguments;

#endif
