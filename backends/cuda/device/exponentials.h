// The largest element of a row and the logarithm of the sum of its exponentials, by the threads of a block. A file that
// includes this has T defined; DP_EXPONENTIALS defines the function.
#ifndef DP_BACKENDS_CUDA_DEVICE_EXPONENTIALS_H
#define DP_BACKENDS_CUDA_DEVICE_EXPONENTIALS_H

#include "backends/cuda/device/block.h"

typedef struct {
  double most, log_sum;
} dp_exponentials;

#define DP_EXP(x) (sizeof(W) == 4 ? (W)expf((float)(x)) : (W)exp((double)(x)))

// One pass: each thread keeps its elements' sum relative to the largest so far, which a larger one rescales. Milakov,
// Gimelshein: "Online normalizer calculation for softmax", 2018. NaN, +infinity, or only -infinity makes the sum NaN.
#define DP_EXPONENTIALS(NAME_OF)                                                                \
  DP_DEVICE dp_exponentials NAME_OF(const T *x, dp_i64 length, dp_i64 stride, double *shared) { \
    double mine = -DP_INFINITY, sum = 0;                                                        \
    for (dp_i64 k = dp_thread(); k < length; k += dp_threads()) {                               \
      const double z = (double)GET(x[k * stride]);                                              \
      if (z > mine) {                                                                           \
        sum = sum * exp(mine - z) + 1;                                                          \
        mine = z;                                                                               \
      } else if (z != -DP_INFINITY) {                                                           \
        sum += (double)DP_EXP(z - mine);                                                        \
      }                                                                                         \
    }                                                                                           \
    const double most = dp_block_max(mine, shared);                                             \
    sum = dp_block_sum(sum * exp(mine - most), shared);                                         \
    const dp_exponentials made = {most, log(sum)};                                              \
    return made;                                                                                \
  }

#endif
