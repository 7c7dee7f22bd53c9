// Arguments of plane_mean.cu.
#ifndef DP_BACKENDS_CUDA_DEVICE_PLANE_MEAN_H
#define DP_BACKENDS_CUDA_DEVICE_PLANE_MEAN_H

// y (planes) = the sums of x (planes, elements), each divided by `divisor`.
typedef struct {
  const void *x;
  void *y;
  long long planes, elements;
  double divisor;
} dp_plane_mean_arguments;

enum { DP_PLANE_MEAN_THREADS = 128 };

#endif
