// Pad.
#ifndef DP_BACKENDS_CUDA_DEVICE_PAD_H
#define DP_BACKENDS_CUDA_DEVICE_PAD_H

enum { DP_PAD_RANK = 8 };  // the most dims

typedef struct {
  long long count, aligned;  // aligned: whether y is at a multiple of a vector
  long long x_extents[DP_PAD_RANK], y_extents[DP_PAD_RANK], begin[DP_PAD_RANK];
  unsigned long long constant;  // its bits
  const void *x;
  void *y;
} dp_pad_arguments;

#endif
