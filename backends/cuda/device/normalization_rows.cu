// Normalises short rows of type T, a warp for each, which keeps the row in registers: VECTORS vectors of WIDTH
// elements a thread. Elements are computed with relative to the row's first one, so that W is exact enough for their
// mean. Rows for which W has no room are computed in double, from memory.
//
// TAKES_U: x has type U. ADDS: to each element of x, rounded to T, that of `other` is added; ADDS_ROW: before that,
// that of `row`, in U. What comes out is normalized, and stored where STORES_SUM, also where an operand is. The result
// has type U where STORES_U.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/normalization.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)
DP_VECTOR(LOCAL(narrow), LOCAL(load_narrow), LOCAL(store_narrow), U, WIDTH)
DP_WARP_FIRST(W, LOCAL(first))

// Elements of a row from number i of all, and from `column` of their row, on: of x or of the sum.
DP_DEVICE LOCAL(vector) LOCAL(elements)(const dp_normalization_arguments *a, dp_i64 i, dp_i64 column) {
  LOCAL(vector) v;
  if (TAKES_U) {
    LOCAL(narrow) u = LOCAL(load_narrow)((const U *)a->x + i, a->aligned);
    if (ADDS_ROW) {
      const LOCAL(narrow) row = LOCAL(load_narrow)((const U *)a->row + column, a->aligned);
      DP_UNROLL
      for (int l = 0; l < WIDTH; l++) u.e[l] = PUT_U(GET_U(u.e[l]) + GET_U(row.e[l]));
    }
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) v.e[l] = PUT(GET_U(u.e[l]));
  } else {
    v = LOCAL(load)((const T *)a->x + i, a->aligned);
  }
  if (!ADDS) return v;
  const LOCAL(vector) other = LOCAL(load)((const T *)a->other + i, a->aligned);
  DP_UNROLL
  for (int l = 0; l < WIDTH; l++) v.e[l] = PUT(GET(v.e[l]) + GET(other.e[l]));
  return v;
}

// Vector number k of the row from number `start` of all elements on, once it has been read: the sum is where it has
// been stored, which may be where an operand was.
DP_DEVICE LOCAL(vector) LOCAL(again)(const dp_normalization_arguments *a, dp_i64 start, dp_i64 k) {
  if (STORES_SUM) return LOCAL(load)((const T *)a->sum + start + k * WIDTH, a->aligned);
  return LOCAL(elements)(a, start + k * WIDTH, k * WIDTH);
}

// Stores elements of the result.
DP_DEVICE void LOCAL(put)(const dp_normalization_arguments *a, dp_i64 i, const W *from) {
  if (STORES_U) {
    LOCAL(narrow) u;
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) u.e[l] = PUT_U(from[l]);
    LOCAL(store_narrow)((U *)a->y + i, u, a->aligned);
    return;
  }
  LOCAL(vector) v;
  DP_UNROLL
  for (int l = 0; l < WIDTH; l++) v.e[l] = PUT(from[l]);
  LOCAL(store)((T *)a->y + i, v, a->aligned);
}

// The sum over the row, or the sum of squares about `mean`, in double.
DP_DEVICE double LOCAL(total)(const dp_normalization_arguments *a, dp_i64 start, bool squared, double mean) {
  double sum = 0;
  for (dp_i64 k = dp_thread() % DP_WARP; k * WIDTH < a->length; k += DP_WARP) {
    const LOCAL(vector) v = LOCAL(again)(a, start, k);
    for (int l = 0; l < WIDTH; l++) {
      const double x = (double)GET(v.e[l]) - mean;
      sum += squared ? x * x : x;
    }
  }
  return dp_warp_sum(sum);
}

DP_DEVICE void LOCAL(keep)(const dp_normalization_arguments *a, dp_i64 row, double mean, double invstd) {
  if (dp_thread() % DP_WARP) return;
  if (a->mean) ((T *)a->mean)[row] = PUT(mean);
  if (a->invstd) ((T *)a->invstd)[row] = PUT(invstd);
}

DP_DEVICE void LOCAL(wide)(const dp_normalization_arguments *a, dp_i64 row) {
  const dp_i64 start = row * a->length;
  const double mean = a->about_mean ? LOCAL(total)(a, start, false, 0) / (double)a->length : 0;
  const double invstd = 1 / sqrt(LOCAL(total)(a, start, true, mean) / (double)a->length + a->epsilon);
  for (dp_i64 k = dp_thread() % DP_WARP; k * WIDTH < a->length; k += DP_WARP) {
    const LOCAL(vector) v = LOCAL(again)(a, start, k);
    for (int l = 0; l < WIDTH; l++) {
      const dp_i64 column = k * WIDTH + l;
      const double y = ((double)GET(v.e[l]) - mean) * invstd * (double)GET(((const T *)a->scale)[column]) +
                       (a->bias ? (double)GET(((const T *)a->bias)[column]) : 0);
      if (STORES_U)
        ((U *)a->y)[start + column] = PUT_U(y);
      else
        ((T *)a->y)[start + column] = PUT(y);
    }
  }
  LOCAL(keep)(a, row, mean, invstd);
}

// Reads this thread's elements of the row, and stores their sum with what is added.
DP_DEVICE void LOCAL(read)(const dp_normalization_arguments *a, dp_i64 start, W (*z)[WIDTH]) {
  DP_UNROLL
  for (int k = 0; k < VECTORS; k++) {
    const dp_i64 i = (k * DP_WARP + dp_thread() % DP_WARP) * WIDTH;
    if (i >= a->length) break;
    const LOCAL(vector) v = LOCAL(elements)(a, start + i, i);
    if (STORES_SUM) LOCAL(store)((T *)a->sum + start + i, v, a->aligned);
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) z[k][l] = GET(v.e[l]);
  }
}

DP_BLOCK_KERNEL(dp_normalization_arguments) {
  const dp_i64 row = dp_block() * (dp_threads() / DP_WARP) + dp_thread() / DP_WARP, start = row * a.length;
  const int lane = dp_thread() % DP_WARP;
  if (row >= a.rows) return;
  W z[VECTORS][WIDTH], sum = 0, square = 0;
  z[0][0] = 0;
  LOCAL(read)(&a, start, z);
  const W origin = a.about_mean ? LOCAL(first)(z[0][0]) : 0;
  DP_UNROLL
  for (int k = 0; k < VECTORS; k++) {
    if ((k * DP_WARP + lane) * WIDTH >= a.length) break;
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) {
      z[k][l] -= origin;
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
  const double variance = dp_warp_sum((double)square) / (double)a.length + a.epsilon, invstd = 1 / sqrt(variance);
  if (!dp_is_variance_of_floats(variance)) {
    LOCAL(wide)(&a, row);
    return;
  }
  DP_UNROLL
  for (int k = 0; k < VECTORS; k++) {
    const dp_i64 i = (k * DP_WARP + lane) * WIDTH;
    if (i >= a.length) break;
    const LOCAL(vector) scale = LOCAL(load)((const T *)a.scale + i, a.aligned);
    const LOCAL(vector) bias = LOCAL(load)((const T *)(a.bias ? a.bias : a.scale) + i, a.aligned);
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) z[k][l] = z[k][l] * (W)invstd * GET(scale.e[l]) + (a.bias ? GET(bias.e[l]) : 0);
    LOCAL(put)(&a, start + i, z[k]);
  }
  LOCAL(keep)(&a, row, (double)origin + mean, invstd);
}
