// What the gradient of batch normalization is given: dy, or in a region (backends/cuda/kernels/region_batch.h) what the
// sum with `other` (ADDS) and the gradient of Relu (RELU) make of it, rounded wherever separate launches round. The
// first launch may leave that for the second one, or a bit for each element (LEAVES), so that this one need not read
// Relu's result again. Vectors that have bits have 8 elements or fewer.
#ifndef DP_BACKENDS_CUDA_DEVICE_BATCH_GIVEN_H
#define DP_BACKENDS_CUDA_DEVICE_BATCH_GIVEN_H

#include "backends/cuda/device/batch_vector.h"

typedef struct {
  dp_i64 at;
  LOCAL(vector) x, dy, other, z;
  dp_u32 marks;  // bit v: Relu lets element v through
} LOCAL(given);

// What takes an element of a channel to what Relu had before it.
typedef struct {
  REAL mean, factor, shift;
} LOCAL(forward);

// Reads vector `at`.
DP_DEVICE void LOCAL(take)(const dp_batch_arguments *a, dp_i64 at, LOCAL(given) * g) {
  g->at = at;
  g->x = ((const LOCAL(vector) *)a->x)[at];
  g->dy = ((const LOCAL(vector) *)a->dy)[at];
  if (ADDS) g->other = ((const LOCAL(vector) *)a->other)[at];
  if (RELU == DP_BATCH_RELU) g->z = ((const LOCAL(vector) *)a->z)[at];
  if (RELU == DP_BATCH_MARKED) g->marks = a->marks[at];
}

// Makes of dy what is given, and z AGAIN, as the forward pass made it, which keeps the same statistics as it uses.
// each: 1 if every element of the vector is of a channel of its own, 0 if all are of one.
DP_DEVICE void LOCAL(give)(LOCAL(given) * g, const LOCAL(forward) * f, int each) {
  DP_UNROLL
  for (int v = 0; v < VECTOR && RELU == DP_BATCH_AGAIN; v++)
    g->z.e[v] = PUT(((REAL)GET(g->x.e[v]) - f[each * v].mean) * f[each * v].factor + f[each * v].shift);
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

// Stores Relu's result.
DP_DEVICE void LOCAL(store_again)(const dp_batch_arguments *a, LOCAL(given) * g) {
  if (RELU != DP_BATCH_AGAIN || !a->y) return;
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++)
    if (!(g->marks >> v & 1)) g->z.e[v] = PUT(0);
  ((LOCAL(vector) *)a->y)[g->at] = g->z;
}

// Stores what the second launch reads.
DP_DEVICE void LOCAL(leave)(const dp_batch_arguments *a, const LOCAL(given) * g) {
  if (LEAVES == DP_BATCH_LEAVES_GIVEN) ((LOCAL(vector) *)a->given)[g->at] = g->dy;
  if (LEAVES == DP_BATCH_LEAVES_MARKS) a->marks[g->at] = (unsigned char)g->marks;
}

#endif
