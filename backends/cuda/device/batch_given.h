// What the gradient of batch normalization is given: dy, or in a region (backends/cuda/kernels/region_batch.h) what the
// sum with `other` (ADDS) and the gradient of Relu (RELU) make of it, rounded wherever separate launches round. The
// first launch may leave that for the second one, or a bit for each element (LEAVES), so that this one need not read
// Relu's result again. Vectors that have bits have 8 elements or fewer.
#ifndef DP_BACKENDS_CUDA_DEVICE_BATCH_GIVEN_H
#define DP_BACKENDS_CUDA_DEVICE_BATCH_GIVEN_H

#include "backends/cuda/device/batch_vector.h"

typedef struct {
  LOCAL(vector) dy, other, z;
  dp_u32 marks;  // bit v: Relu lets element v through
} LOCAL(given);

// Reads vector `at`.
DP_DEVICE void LOCAL(take)(const dp_batch_arguments *a, dp_i64 at, LOCAL(given) * g) {
  g->dy = ((const LOCAL(vector) *)a->dy)[at];
  if (ADDS) g->other = ((const LOCAL(vector) *)a->other)[at];
  if (RELU == DP_BATCH_RELU) g->z = ((const LOCAL(vector) *)a->z)[at];
  if (RELU == DP_BATCH_MARKED) g->marks = a->marks[at];
}

// Makes of dy what is given.
DP_DEVICE void LOCAL(give)(LOCAL(given) * g) {
  if (RELU == DP_BATCH_RELU || RELU == DP_BATCH_AGAIN) {
    g->marks = 0;
    DP_UNROLL
    for (int v = 0; v < VECTOR; v++) g->marks |= (dp_u32) !(GET(g->z.e[v]) <= 0) << v;
  }
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) {
    if (ADDS) g->dy.e[v] = PUT((W)GET(g->dy.e[v]) + (W)GET(g->other.e[v]));
    if (RELU != DP_BATCH_NO_RELU && !(g->marks >> v & 1)) g->dy.e[v] = PUT(0);
  }
}

// What Relu had before it, of element v of a vector, from which and from whose neighbours z is made AGAIN: as the
// forward pass made it, which keeps the same statistics as it uses.
DP_DEVICE T LOCAL(before)(const LOCAL(vector) * x, int v, REAL mean, REAL factor, REAL shift) {
  return PUT(((REAL)GET(x->e[v]) - mean) * factor + shift);
}

// Stores Relu's result.
DP_DEVICE void LOCAL(store_again)(const dp_batch_arguments *a, dp_i64 at, LOCAL(given) * g) {
  if (RELU != DP_BATCH_AGAIN || !a->y) return;
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++)
    if (!(g->marks >> v & 1)) g->z.e[v] = PUT(0);
  ((LOCAL(vector) *)a->y)[at] = g->z;
}

// Stores what the second launch reads.
DP_DEVICE void LOCAL(leave)(const dp_batch_arguments *a, dp_i64 at, const LOCAL(given) * g) {
  if (LEAVES == DP_BATCH_LEAVES_GIVEN) ((LOCAL(vector) *)a->given)[at] = g->dy;
  if (LEAVES == DP_BATCH_LEAVES_MARKS) a->marks[at] = (unsigned char)g->marks;
}

#endif
