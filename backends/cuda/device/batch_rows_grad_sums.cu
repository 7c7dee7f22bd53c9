// The sums of dy and of dy * z over a share of each channel, where channels are neighbours; z = (x - mean) * invstd.
// Few are added in REAL before what comes of them is converted to double, or one by one where REAL has no room for
// that. With Relu's gradient more bytes are under way for each thread, and there are fewer threads.
#include "backends/cuda/device/batch_given.h"
#include "backends/cuda/device/batch_rows.h"

DP_BOUNDED_KERNEL(dp_batch_arguments, DP_BATCH_THREADS, RELU ? 2 : 3) {
  DP_SHARED double shared[VECTOR * DP_BATCH_THREADS];
  dp_batch_column column = dp_batch_column_of(&a, a.splits);
  LOCAL(forward) forward[VECTOR];  // the mean alone, unless Relu's result is made again
  double sum[VECTOR], products[VECTOR];
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) {
    forward[v].mean = column.left ? (REAL)GET_U(((const U *)a.given_mean)[column.column * VECTOR + v]) : 0;
    sum[v] = products[v] = 0;
    const dp_i64 c = RELU == DP_BATCH_AGAIN && column.left ? column.column * VECTOR + v : 0;
    if (RELU == DP_BATCH_AGAIN) {
      const double invstd = (double)GET_U(((const U *)a.given_invstd)[c]);
      forward[v].factor = (REAL)((double)GET_U(((const U *)a.scale)[c]) * invstd);
      forward[v].shift = (REAL)GET_U(((const U *)a.bias)[c]);
    }
  }
#define TAKE(COUNT)                                                                       \
  LOCAL(given) given[COUNT];                                                              \
  DP_UNROLL                                                                               \
  for (int u = 0; u < (COUNT); u++) LOCAL(take)(&a, dp_batch_row(&column, u), &given[u]); \
  DP_UNROLL                                                                               \
  for (int u = 0; u < (COUNT); u++) {                                                     \
    LOCAL(give)(&given[u], forward, 1);                                                   \
    LOCAL(leave)(&a, &given[u]);                                                          \
  }                                                                                       \
  DP_UNROLL                                                                               \
  for (int v = 0; v < VECTOR; v++) {                                                      \
    const REAL mean = forward[v].mean;                                                    \
    REAL some = 0, some_products = 0;                                                     \
    DP_UNROLL                                                                             \
    for (int u = 0; u < (COUNT); u++) {                                                   \
      const REAL one = (REAL)GET(given[u].dy.e[v]);                                       \
      some += one;                                                                        \
      some_products += one * ((REAL)GET(given[u].x.e[v]) - mean);                         \
    }                                                                                     \
    if (some - some == 0 && some_products - some_products == 0) {                         \
      sum[v] += (double)some;                                                             \
      products[v] += (double)some_products;                                               \
      continue;                                                                           \
    }                                                                                     \
    DP_UNROLL                                                                             \
    for (int u = 0; u < (COUNT); u++) {                                                   \
      const double one = (double)GET(given[u].dy.e[v]);                                   \
      sum[v] += one;                                                                      \
      products[v] += one * ((double)GET(given[u].x.e[v]) - (double)mean);                 \
    }                                                                                     \
  }
  DP_BATCH_EACH_ROW(column, DP_BATCH_LOADS / 2, TAKE);
#undef TAKE
  const double all = dp_batch_column_sum(&a, sum, shared), all_products = dp_batch_column_sum(&a, products, shared);
  const dp_i64 channel = dp_batch_channel(&a, dp_thread());
  if (channel < 0) return;
  double *partial = a.partial + 2 * (channel * a.splits + column.share);
  partial[0] = all;
  partial[1] = all_products * (double)GET_U(((const U *)a.given_invstd)[channel]);
}
