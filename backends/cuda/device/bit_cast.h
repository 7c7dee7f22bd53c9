// BitCast.
#ifndef DP_BACKENDS_CUDA_DEVICE_BIT_CAST_H
#define DP_BACKENDS_CUDA_DEVICE_BIT_CAST_H

typedef struct {
  long long count;
  const void *x;
  void *y;
} dp_bit_cast_arguments;

#endif
