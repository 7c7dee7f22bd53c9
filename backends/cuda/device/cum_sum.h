// CumSum.
#ifndef DP_BACKENDS_CUDA_DEVICE_CUM_SUM_H
#define DP_BACKENDS_CUDA_DEVICE_CUM_SUM_H

enum { DP_CUM_SUM_THREADS = 256 };  // the most of a block

// x, y (outer, length, inner): sums run along the middle dim.
typedef struct {
  long long length, inner;
  const void *x;
  void *y;
} dp_cum_sum_arguments;

#endif
