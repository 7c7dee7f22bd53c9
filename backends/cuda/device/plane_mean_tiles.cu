// Means of small planes of ELEMENTS elements of type T: a block for DP_PLANE_MEAN_TILE planes, which are neighbours in
// memory and come to shared memory by vectors of WIDTH elements. Sums are taken in float64: those of a plane's threads,
// each of which has elements DP_PLANE_MEAN_SHARERS apart, in order.
#include "backends/cuda/device/plane_mean.h"
#include "backends/cuda/device/prelude.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)

enum { LOCAL(most) = DP_PLANE_MEAN_TILE * ELEMENTS };

DP_BLOCK_KERNEL(dp_plane_mean_arguments) {
  DP_SHARED LOCAL(vector) held[(LOCAL(most) + WIDTH - 1) / WIDTH];
  DP_SHARED double sums[DP_PLANE_MEAN_SHARERS][DP_PLANE_MEAN_TILE];
  const int t = dp_thread();
  const dp_i64 first = dp_block() * DP_PLANE_MEAN_TILE, left = a.planes - first;
  const int planes = left < DP_PLANE_MEAN_TILE ? (int)left : DP_PLANE_MEAN_TILE, count = planes * ELEMENTS;
  const T *x = (const T *)a.x + first * ELEMENTS;
  for (int k = t; k * WIDTH < count; k += dp_threads()) {
    if ((k + 1) * WIDTH <= count)
      held[k] = LOCAL(load)(x + k * WIDTH, a.aligned);
    else
      for (int l = 0; k * WIDTH + l < count; l++) held[k].e[l] = x[k * WIDTH + l];
  }
  dp_barrier();
  const int plane = t / DP_PLANE_MEAN_SHARERS, sharer = t % DP_PLANE_MEAN_SHARERS;
  double sum = 0;
  for (int i = sharer; i < ELEMENTS && plane < planes; i += DP_PLANE_MEAN_SHARERS) {
    const int at = plane * ELEMENTS + i;
    sum += (double)GET(held[at / WIDTH].e[at % WIDTH]);
  }
  sums[sharer][plane] = sum;
  dp_barrier();
  if (t >= planes) return;
  for (int s = 1; s < DP_PLANE_MEAN_SHARERS; s++) sums[0][t] += sums[s][t];
  ((T *)a.y)[first + t] = PUT(a.divisor > 0 ? sums[0][t] / a.divisor : 0);
}
