// What the threads of a block compute together, in an order that depends on nothing but the number of threads. All
// threads call these, and all get the result.
#ifndef DP_BACKENDS_CUDA_DEVICE_BLOCK_H
#define DP_BACKENDS_CUDA_DEVICE_BLOCK_H

#include "backends/cuda/device/prelude.h"

enum { DP_BLOCK_MOST = 256, DP_BLOCK_GROUPS = 16, DP_BLOCK_SHARED = DP_BLOCK_MOST + DP_BLOCK_GROUPS };

// shared: (DP_BLOCK_SHARED), in DP_SHARED memory. A block has at most DP_BLOCK_MOST threads.
DP_DEVICE double dp_block_sum(double value, double *shared) {
  const int t = dp_thread(), n = dp_threads();
  double sum = 0;
  shared[t] = value;
  dp_barrier();
  if (t < DP_BLOCK_GROUPS) {
    for (int i = t; i < n; i += DP_BLOCK_GROUPS) sum += shared[i];
    shared[DP_BLOCK_MOST + t] = sum;
  }
  dp_barrier();
  sum = 0;
  for (int i = 0; i < DP_BLOCK_GROUPS && i < n; i++) sum += shared[DP_BLOCK_MOST + i];
  dp_barrier();  // before somebody writes there again
  return sum;
}

// The largest; NaN is less than anything.
DP_DEVICE double dp_block_max(double value, double *shared) {
  const int t = dp_thread(), n = dp_threads();
  shared[t] = value;
  dp_barrier();
  if (t < DP_BLOCK_GROUPS) {
    for (int i = t; i < n; i += DP_BLOCK_GROUPS) value = fmax(value, shared[i]);
    shared[DP_BLOCK_MOST + t] = value;
  }
  dp_barrier();
  for (int i = 0; i < DP_BLOCK_GROUPS && i < n; i++) value = fmax(value, shared[DP_BLOCK_MOST + i]);
  dp_barrier();
  return value;
}

#endif
