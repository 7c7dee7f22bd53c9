// dx for a share of each channel, where channels are neighbours; see batch_grad_apply.cu.
#include "backends/cuda/device/batch_given.h"
#include "backends/cuda/device/batch_rows.h"

DP_KERNEL(dp_batch_arguments) {
  const LOCAL(vector) *x = (const LOCAL(vector) *)a.x;
  LOCAL(vector) *dx = (LOCAL(vector) *)a.dx;
  dp_batch_column column = dp_batch_column_of(&a, a.parts);
  if (!column.left) return;
  REAL mean[VECTOR], factor[VECTOR], shift[VECTOR], slope[VECTOR], bias[VECTOR];
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) {
    const LOCAL(line_of) line = ((const LOCAL(line_of) *)a.lines)[column.column * VECTOR + v];
    mean[v] = line.mean;
    factor[v] = line.factor;
    shift[v] = line.shift;
    slope[v] = line.slope;
    bias[v] = RELU == DP_BATCH_AGAIN ? (REAL)GET_U(((const U *)a.bias)[column.column * VECTOR + v]) : 0;
  }
#define TAKE(COUNT)                                                                             \
  LOCAL(vector) held[COUNT];                                                                    \
  LOCAL(given) given[COUNT];                                                                    \
  DP_UNROLL                                                                                     \
  for (int u = 0; u < (COUNT); u++) {                                                           \
    held[u] = x[dp_batch_row(&column, u)];                                                      \
    LOCAL(take)(&a, dp_batch_row(&column, u), &given[u]);                                       \
  }                                                                                             \
  DP_UNROLL                                                                                     \
  for (int u = 0; u < (COUNT); u++) {                                                           \
    LOCAL(vector) made;                                                                         \
    DP_UNROLL                                                                                   \
    for (int v = 0; v < VECTOR && RELU == DP_BATCH_AGAIN; v++)                                  \
      given[u].z.e[v] = LOCAL(before)(&held[u], v, mean[v], factor[v], bias[v]);                \
    LOCAL(give)(&given[u]);                                                                     \
    LOCAL(store_again)(&a, dp_batch_row(&column, u), &given[u]);                                \
    DP_UNROLL                                                                                   \
    for (int v = 0; v < VECTOR; v++) {                                                          \
      const REAL apart = (REAL)GET(held[u].e[v]) - mean[v];                                     \
      made.e[v] = PUT(factor[v] * ((REAL)GET(given[u].dy.e[v]) - shift[v] - apart * slope[v])); \
    }                                                                                           \
    dx[dp_batch_row(&column, u)] = made;                                                        \
  }
  DP_BATCH_EACH_ROW(column, DP_BATCH_LOADS / 2, TAKE);
#undef TAKE
}
