// Arguments of join_parts.cu.
#ifndef DP_BACKENDS_CUDA_DEVICE_JOIN_PARTS_H
#define DP_BACKENDS_CUDA_DEVICE_JOIN_PARTS_H

#include "backends/cuda/device/prelude.h"

// A block has SIDE neighbouring results, and SHARES threads for each.
enum { DP_JOIN_SIDE = 32, DP_JOIN_SHARES = 8, DP_JOIN_THREADS = DP_JOIN_SIDE * DP_JOIN_SHARES };

// y (count) = the sum of x (parts, count) over parts.
typedef struct {
  const void *x;
  void *y;
  long long count, parts;
} dp_join_parts_arguments;

#endif
