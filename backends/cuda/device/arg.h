// ArgMax and ArgMin.
#ifndef DP_BACKENDS_CUDA_DEVICE_ARG_H
#define DP_BACKENDS_CUDA_DEVICE_ARG_H

// x (outer, length, inner), y (outer, inner)
typedef struct {
  long long count, length, inner;
  const void *x;
  long long *y;
} dp_arg_arguments;

#endif
