// Normalises rows of type T of which WIDTH neighbours share a scale: groups of channels. A block has a row, which it
// keeps in registers: VECTORS vectors of WIDTH elements a thread. Elements are computed with relative to the first one
// of the row, so that W is exact enough for their mean. Rows for which W has no room are computed in double, from
// memory. Every element is read and written by the same thread, so that y may be x.
#include "backends/cuda/device/moments.h"
#include "backends/cuda/device/normalization.h"
#include "backends/cuda/device/vectors.h"

DP_MOMENTS(LOCAL(moments))
DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)

// Of the row whose first channel is `first`, from its mean and 1 / sqrt(variance + epsilon), in double.
DP_DEVICE void LOCAL(wide)(const dp_normalization_arguments *a, const T *x, dp_i64 first, dp_moments found, T *y) {
  for (int k = dp_thread(); k * WIDTH < a->length; k += dp_threads()) {
    const dp_i64 channel = first + k * WIDTH / a->inner;
    const double scale = (double)GET(((const T *)a->scale)[channel]);
    const double bias = a->bias ? (double)GET(((const T *)a->bias)[channel]) : 0;
    for (int i = k * WIDTH; i < (k + 1) * WIDTH; i++)
      y[i] = PUT(((double)GET(x[i]) - found.mean) * found.square * scale + bias);
  }
}

DP_BLOCK_KERNEL(dp_normalization_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_i64 row = dp_block(), first = row % a.groups * a.per;
  const T *x = (const T *)a.x + row * a.length;
  T *y = (T *)a.y + row * a.length;
  const int vectors = (int)a.length / WIDTH, each = (int)a.inner / WIDTH;  // of a row, of a channel
  const W origin = GET(x[0]);
  LOCAL(vector) v[VECTORS];
  W sum = 0, square = 0;
  DP_UNROLL
  for (int u = 0; u < VECTORS; u++) {
    const int k = u * THREADS + dp_thread();
    v[u] = LOCAL(load)(x + (k < vectors ? k : 0) * WIDTH, a.aligned);
  }
  DP_UNROLL
  for (int u = 0; u < VECTORS; u++) {
    if (u * THREADS + dp_thread() >= vectors) break;
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) sum += GET(v[u].e[l]) - origin;
  }
  const double mean = dp_block_sum((double)sum, shared) / (double)a.length;
  DP_UNROLL
  for (int u = 0; u < VECTORS; u++) {
    if (u * THREADS + dp_thread() >= vectors) break;
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) {
      const W z = GET(v[u].e[l]) - origin - (W)mean;
      square += z * z;
    }
  }
  const double variance = dp_block_sum((double)square, shared) / (double)a.length + a.epsilon,
               invstd = 1 / sqrt(variance);
  if (!dp_is_variance_of_floats(variance)) {
    dp_moments found = LOCAL(moments)(x, a.length, a.about_mean, shared);
    found.square = 1 / sqrt(found.square / (double)a.length + a.epsilon);
    LOCAL(wide)(&a, x, first, found, y);
    return;
  }
  DP_UNROLL
  for (int u = 0; u < VECTORS; u++) {
    const int k = u * THREADS + dp_thread();
    if (k >= vectors) break;
    const dp_i64 channel = first + (unsigned)k / (unsigned)each;
    const W scale = (W)invstd * GET(((const T *)a.scale)[channel]);
    const W bias = a.bias ? GET(((const T *)a.bias)[channel]) : 0;
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) v[u].e[l] = PUT((GET(v[u].e[l]) - origin - (W)mean) * scale + bias);
    LOCAL(store)(y + k * WIDTH, v[u], a.aligned);
  }
}
