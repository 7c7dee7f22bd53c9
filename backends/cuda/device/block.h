// What the threads of a block compute together, in an order that depends on nothing but the number of threads: each
// warp for itself, then the warps' results in order. All threads call these, and all get the result.
#ifndef DP_BACKENDS_CUDA_DEVICE_BLOCK_H
#define DP_BACKENDS_CUDA_DEVICE_BLOCK_H

#include "backends/cuda/device/prelude.h"

// A block has whole warps, and at most DP_BLOCK_MOST threads. DP_BLOCK_SHARED: of what is shared, a word for each warp.
enum { DP_BLOCK_MOST = 256, DP_BLOCK_SHARED = DP_BLOCK_MOST / DP_WARP };

// shared: (DP_BLOCK_SHARED), in DP_SHARED memory.
#define DP_BLOCK_JOIN(NAME_OF, OF_WARP, JOIN)                                        \
  DP_DEVICE double NAME_OF(double value, double *shared) {                           \
    value = OF_WARP(value);                                                          \
    if (dp_thread() % DP_WARP == 0) shared[dp_thread() / DP_WARP] = value;           \
    dp_barrier();                                                                    \
    value = shared[0];                                                               \
    for (int i = 1; i < dp_threads() / DP_WARP; i++) value = JOIN(value, shared[i]); \
    dp_barrier(); /* before somebody writes there again */                           \
    return value;                                                                    \
  }

DP_BLOCK_JOIN(dp_block_sum, dp_warp_sum, DP_PLUS)
DP_BLOCK_JOIN(dp_block_max, dp_warp_max, fmax)

#endif
