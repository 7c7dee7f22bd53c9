// Arguments of plane_mean.cu, plane_mean_tiles.cu and plane_mean_rows.cu.
#ifndef DP_BACKENDS_CUDA_DEVICE_PLANE_MEAN_H
#define DP_BACKENDS_CUDA_DEVICE_PLANE_MEAN_H

// y (planes) = the sums of x (planes, elements), each divided by `divisor`. Where channels are neighbours, there are
// planes / channels samples, and a block takes `columns` channels of one.
typedef struct {
  const void *x;
  void *y;
  long long planes, elements, channels, columns;
  long long aligned;  // whether x can be read by vectors
  double divisor;
} dp_plane_mean_arguments;

enum { DP_PLANE_MEAN_THREADS = 128, DP_PLANE_MEAN_COLUMNS = 64 };  // columns: at most

// Of small planes: planes of a block, and threads of a plane.
enum { DP_PLANE_MEAN_TILE = 32, DP_PLANE_MEAN_SHARERS = 8 };

#endif
