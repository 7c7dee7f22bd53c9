// What a thread of pooling reads and writes at once: VECTOR neighbours. In NHWC a pixel has VECTORS of them.
#ifndef DP_BACKENDS_CUDA_DEVICE_POOL_VECTOR_H
#define DP_BACKENDS_CUDA_DEVICE_POOL_VECTOR_H

#include "backends/cuda/device/vectors.h"

#define VECTORS (NEIGHBOURS / VECTOR)

typedef struct DP_ALIGNED(VECTOR * sizeof(T)) {
  T e[VECTOR];
} LOCAL(vector);

#endif
