// Shape.
#ifndef DP_BACKENDS_CUDA_DEVICE_SHAPE_H
#define DP_BACKENDS_CUDA_DEVICE_SHAPE_H

enum { DP_SHAPE_RANK = 8 };  // the most dims

typedef struct {
  long long count, extents[DP_SHAPE_RANK];
  long long *y;  // (count)
} dp_shape_arguments;

#endif
