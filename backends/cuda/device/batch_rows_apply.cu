// Normalises a share of each channel, where channels are neighbours, with what stands behind.
#include "backends/cuda/device/batch_behind.h"
#include "backends/cuda/device/batch_rows.h"

DP_KERNEL(dp_batch_arguments) {
  const LOCAL(vector) *x = (const LOCAL(vector) *)a.x;
  LOCAL(vector) *y = (LOCAL(vector) *)a.y;
  dp_batch_column column = dp_batch_column_of(&a, a.parts);
  if (!column.left) return;
  REAL mean[VECTOR], factor[VECTOR], shift[VECTOR];
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) {
    const LOCAL(line_of) line = ((const LOCAL(line_of) *)a.lines)[column.column * VECTOR + v];
    mean[v] = line.mean;
    factor[v] = line.factor;
    shift[v] = line.shift;
  }
#define TAKE(COUNT)                                                                                               \
  LOCAL(vector) held[COUNT], other[COUNT];                                                                        \
  DP_UNROLL                                                                                                       \
  for (int u = 0; u < (COUNT); u++) {                                                                             \
    held[u] = x[dp_batch_row(&column, u)];                                                                        \
    LOCAL(take_other)(&a, dp_batch_row(&column, u), &other[u]);                                                   \
  }                                                                                                               \
  DP_UNROLL                                                                                                       \
  for (int u = 0; u < (COUNT); u++) {                                                                             \
    LOCAL(vector) made;                                                                                           \
    DP_UNROLL                                                                                                     \
    for (int v = 0; v < VECTOR; v++) made.e[v] = PUT(((REAL)GET(held[u].e[v]) - mean[v]) * factor[v] + shift[v]); \
    LOCAL(finish)(&made, &other[u]);                                                                              \
    y[dp_batch_row(&column, u)] = made;                                                                           \
  }
  DP_BATCH_EACH_ROW(column, DP_BATCH_LOADS, TAKE);
#undef TAKE
}
