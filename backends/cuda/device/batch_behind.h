// What stands behind batch normalization in a region (backends/cuda/kernels/region_batch.h): the sum with `other` if
// ADDS, Relu if RELU, rounded wherever separate launches round.
#ifndef DP_BACKENDS_CUDA_DEVICE_BATCH_BEHIND_H
#define DP_BACKENDS_CUDA_DEVICE_BATCH_BEHIND_H

#include "backends/cuda/device/batch_vector.h"

// What is added to vector `at` of y.
DP_DEVICE void LOCAL(take_other)(const dp_batch_arguments *a, dp_i64 at, LOCAL(vector) * other) {
  if (ADDS) *other = ((const LOCAL(vector) *)a->other)[at];
}

DP_DEVICE void LOCAL(finish)(LOCAL(vector) * y, const LOCAL(vector) * other) {
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) {
    if (ADDS) y->e[v] = PUT((W)GET(y->e[v]) + (W)GET(other->e[v]));
    if (RELU && GET(y->e[v]) <= 0) y->e[v] = PUT(0);
  }
}

#endif
