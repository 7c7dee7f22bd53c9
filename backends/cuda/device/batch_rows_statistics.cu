// The count, mean and sum of centred squares of a share of each channel, where channels are neighbours; see
// batch_statistics.cu.
#include "backends/cuda/device/batch_rows.h"

DP_BLOCK_KERNEL(dp_batch_arguments) {
  DP_SHARED double shared[VECTOR * DP_BATCH_THREADS];
  const LOCAL(vector) *x = (const LOCAL(vector) *)a.x;
  dp_batch_column column = dp_batch_column_of(&a, a.splits);
  const dp_i64 first = column.first * a.channels;
  REAL origin[VECTOR];
  double sum[VECTOR], squares[VECTOR];
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) {
    origin[v] =
        column.left ? (REAL)dp_batch_origin((double)GET(((const T *)a.x)[first + column.column * VECTOR + v])) : 0;
    sum[v] = squares[v] = 0;
  }
#define TAKE(COUNT)                                                                            \
  LOCAL(vector) held[COUNT];                                                                   \
  DP_UNROLL                                                                                    \
  for (int u = 0; u < (COUNT); u++) held[u] = x[dp_batch_row(&column, u)];                     \
  DP_UNROLL                                                                                    \
  for (int k = 0; k < (COUNT)*VECTOR; k++) {                                                   \
    const double z = (double)((REAL)GET(held[k / VECTOR].e[k % VECTOR]) - origin[k % VECTOR]); \
    sum[k % VECTOR] += z;                                                                      \
    squares[k % VECTOR] += z * z;                                                              \
  }
  DP_BATCH_EACH_ROW(column, DP_BATCH_LOADS, TAKE);
#undef TAKE
  const double all = dp_batch_column_sum(&a, sum, shared), all_squares = dp_batch_column_sum(&a, squares, shared);
  const dp_i64 channel = dp_batch_channel(&a, dp_thread());
  if (channel < 0) return;
  const double count = (double)(column.end - column.first), apart = count > 0 ? all / count : 0;
  const double centred = all_squares - all * apart;
  double *partial = a.partial + 3 * (channel * a.splits + column.share);
  partial[0] = count;
  partial[1] = count > 0 ? dp_batch_origin((double)GET(((const T *)a.x)[first + channel])) + apart : 0;
  partial[2] = centred < 0 ? 0 : centred;  // NaN stays
}
