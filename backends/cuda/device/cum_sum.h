// CumSum.
#ifndef DP_BACKENDS_CUDA_DEVICE_CUM_SUM_H
#define DP_BACKENDS_CUDA_DEVICE_CUM_SUM_H

// THREADS: the most of a block. EACH: elements that a thread takes at once. GROUP: threads whose sums are added first.
enum { DP_CUM_SUM_THREADS = 256, DP_CUM_SUM_EACH = 8, DP_CUM_SUM_GROUP = 16 };

// x, y (outer, length, inner): sums run along the middle dim.
typedef struct {
  long long length, inner;
  long long lines;    // outer * inner
  long long aligned;  // whether a thread's elements are at multiples of their bytes
  const void *x;
  void *y;
} dp_cum_sum_arguments;

#endif
