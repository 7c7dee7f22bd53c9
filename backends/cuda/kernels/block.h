// How many threads a block takes for a row.
#ifndef DP_BACKENDS_CUDA_KERNELS_BLOCK_H
#define DP_BACKENDS_CUDA_KERNELS_BLOCK_H

#include "backends/cuda/device/block.h"

// The least power of two, from one warp on, that has a thread for each element; at most DP_BLOCK_MOST.
static inline int dp_cuda_row_threads(int64_t length) {
  int threads = 32;
  while (threads < length && threads < DP_BLOCK_MOST) threads *= 2;
  return threads;
}

#endif
