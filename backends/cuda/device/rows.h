// Rows that a block works on: their largest element, their exponentials.
#ifndef DP_BACKENDS_CUDA_DEVICE_ROWS_H
#define DP_BACKENDS_CUDA_DEVICE_ROWS_H

// x, y (outer, length, inner): rows run along the middle dim, and are numbered outer by inner.
typedef struct {
  long long rows, length, inner;
  const void *x;
  void *y;
} dp_softmax_arguments;

#endif
