// dx for a share of each channel, where channels are neighbours; see batch_grad_apply.cu.
#include "backends/cuda/device/batch_given.h"
#include "backends/cuda/device/batch_rows.h"

DP_KERNEL(dp_batch_arguments) {
  const LOCAL(vector) *x = (const LOCAL(vector) *)a.x;
  LOCAL(vector) *dx = (LOCAL(vector) *)a.dx;
  dp_batch_column column = dp_batch_column_of(&a, a.parts);
  if (!column.left) return;
  REAL mean[VECTOR], factor[VECTOR], shift[VECTOR], slope[VECTOR];
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) {
    const LOCAL(line_of) line = ((const LOCAL(line_of) *)a.lines)[column.column * VECTOR + v];
    mean[v] = line.mean;
    factor[v] = line.factor;
    shift[v] = line.shift;
    slope[v] = line.slope;
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
    LOCAL(give)(&given[u]);                                                                     \
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
