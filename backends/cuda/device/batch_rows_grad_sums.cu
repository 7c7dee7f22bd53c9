// The sums of dy and of dy * z over a share of each channel, where channels are neighbours; z = (x - mean) * invstd.
#include "backends/cuda/device/batch_rows.h"

DP_BLOCK_KERNEL(dp_batch_arguments) {
  DP_SHARED double shared[VECTOR * DP_BATCH_THREADS];
  const LOCAL(vector) *x = (const LOCAL(vector) *)a.x, *dy = (const LOCAL(vector) *)a.dy;
  dp_batch_column column = dp_batch_column_of(&a, a.splits);
  double mean[VECTOR], sum[VECTOR], products[VECTOR];
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) {
    mean[v] = column.left ? (double)GET_U(((const U *)a.given_mean)[column.column * VECTOR + v]) : 0;
    sum[v] = products[v] = 0;
  }
#define TAKE(COUNT)                                                                                   \
  LOCAL(vector) held[COUNT], held_dy[COUNT];                                                          \
  DP_UNROLL                                                                                           \
  for (int u = 0; u < (COUNT); u++) {                                                                 \
    const dp_i64 at = dp_batch_next_row(&column);                                                     \
    held[u] = x[at];                                                                                  \
    held_dy[u] = dy[at];                                                                              \
  }                                                                                                   \
  DP_UNROLL                                                                                           \
  for (int k = 0; k < (COUNT)*VECTOR; k++) {                                                          \
    const double given = (double)GET(held_dy[k / VECTOR].e[k % VECTOR]);                              \
    sum[k % VECTOR] += given;                                                                         \
    products[k % VECTOR] += given * ((double)GET(held[k / VECTOR].e[k % VECTOR]) - mean[k % VECTOR]); \
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
