// Normalises short rows of type T to rows of type U, a warp for each, which keeps the row in registers: VECTORS vectors
// of WIDTH elements a thread. Elements are computed with relative to the row's first one, so that W is exact enough for
// their mean. Rows for which W has no room are computed in double, from memory.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/normalization.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)
DP_VECTOR(LOCAL(made), LOCAL(load_made), LOCAL(store_made), U, WIDTH)

DP_DEVICE dp_moments LOCAL(wide)(const dp_normalization_arguments *a, const T *x, const T *scale, const T *bias, U *y) {
  const dp_i64 lane = dp_thread() % DP_WARP;
  dp_moments made = {0, 0};
  double sum = 0, square = 0;
  for (dp_i64 i = lane; i < a->length; i += DP_WARP) sum += (double)GET(x[i]);
  sum = dp_warp_sum(sum);
  if (a->about_mean) made.mean = sum / (double)a->length;
  for (dp_i64 i = lane; i < a->length; i += DP_WARP)
    square += ((double)GET(x[i]) - made.mean) * ((double)GET(x[i]) - made.mean);
  made.square = 1 / sqrt(dp_warp_sum(square) / (double)a->length + a->epsilon);
  for (dp_i64 i = lane; i < a->length; i += DP_WARP)
    y[i] = PUT_U(((double)GET(x[i]) - made.mean) * made.square * (double)GET(scale[i]) +
                 (bias ? (double)GET(bias[i]) : 0));
  return made;
}

DP_DEVICE void LOCAL(keep)(const dp_normalization_arguments *a, dp_i64 row, double mean, double invstd) {
  if (dp_thread() % DP_WARP) return;
  if (a->mean) ((T *)a->mean)[row] = PUT(mean);
  if (a->invstd) ((T *)a->invstd)[row] = PUT(invstd);
}

DP_BLOCK_KERNEL(dp_normalization_arguments) {
  const dp_i64 row = dp_block() * (dp_threads() / DP_WARP) + dp_thread() / DP_WARP;
  const int lane = dp_thread() % DP_WARP;
  if (row >= a.rows) return;
  const T *x = (const T *)a.x + row * a.length;
  U *y = (U *)a.y + row * a.length;
  const W origin = a.about_mean ? GET(x[0]) : 0;
  W z[VECTORS][WIDTH], sum = 0, square = 0;
  DP_UNROLL
  for (int k = 0; k < VECTORS; k++) {
    const dp_i64 i = (k * DP_WARP + lane) * WIDTH;
    if (i >= a.length) break;
    const LOCAL(vector) v = LOCAL(load)(x + i, a.aligned);
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) {
      z[k][l] = GET(v.e[l]) - origin;
      sum += z[k][l];
    }
  }
  const double mean = a.about_mean ? dp_warp_sum((double)sum) / (double)a.length : 0;
  DP_UNROLL
  for (int k = 0; k < VECTORS; k++) {
    if ((k * DP_WARP + lane) * WIDTH >= a.length) break;
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) {
      z[k][l] -= (W)mean;
      square += z[k][l] * z[k][l];
    }
  }
  const double squares = dp_warp_sum((double)square), invstd = 1 / sqrt(squares / (double)a.length + a.epsilon);
  if (squares - squares != 0 || (squares == 0 && a.epsilon == 0)) {  // infinite, NaN, or perhaps too small
    const dp_moments made = LOCAL(wide)(&a, x, (const T *)a.scale, (const T *)a.bias, y);
    LOCAL(keep)(&a, row, made.mean, made.square);
    return;
  }
  DP_UNROLL
  for (int k = 0; k < VECTORS; k++) {
    const dp_i64 i = (k * DP_WARP + lane) * WIDTH;
    if (i >= a.length) break;
    const LOCAL(vector) scale = LOCAL(load)((const T *)a.scale + i, a.aligned);
    const LOCAL(vector) bias = LOCAL(load)((const T *)(a.bias ? a.bias : a.scale) + i, a.aligned);
    LOCAL(made) v;
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++)
      v.e[l] = PUT_U(z[k][l] * (W)invstd * GET(scale.e[l]) + (a.bias ? GET(bias.e[l]) : 0));
    LOCAL(store_made)(y + i, v, a.aligned);
  }
  LOCAL(keep)(&a, row, (double)origin + mean, invstd);
}
