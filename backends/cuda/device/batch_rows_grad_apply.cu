// dx for a share of each channel, where channels are neighbours; see batch_grad_apply.cu.
#include "backends/cuda/device/batch_given.h"
#include "backends/cuda/device/batch_rows.h"

DP_KERNEL(dp_batch_arguments) {
  LOCAL(vector) *dx = (LOCAL(vector) *)a.dx;
  dp_batch_column column = dp_batch_column_of(&a, a.parts);
  if (!column.left) return;
  LOCAL(line_of) line[VECTOR];
  LOCAL(forward) forward[VECTOR];
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) {
    const dp_i64 c = column.column * VECTOR + v;
    line[v] = ((const LOCAL(line_of) *)a.lines)[c];
    forward[v].mean = line[v].mean;
    forward[v].factor = line[v].factor;
    forward[v].shift = RELU == DP_BATCH_AGAIN ? (REAL)GET_U(((const U *)a.bias)[c]) : 0;
  }
#define TAKE(COUNT)                                                                                            \
  LOCAL(given) given[COUNT];                                                                                   \
  DP_UNROLL                                                                                                    \
  for (int u = 0; u < (COUNT); u++) LOCAL(take)(&a, dp_batch_row(&column, u), &given[u]);                      \
  DP_UNROLL                                                                                                    \
  for (int u = 0; u < (COUNT); u++) {                                                                          \
    LOCAL(vector) made;                                                                                        \
    LOCAL(give)(&given[u], forward, 1);                                                                        \
    LOCAL(store_again)(&a, &given[u]);                                                                         \
    DP_UNROLL                                                                                                  \
    for (int v = 0; v < VECTOR; v++) {                                                                         \
      const REAL apart = (REAL)GET(given[u].x.e[v]) - line[v].mean;                                            \
      made.e[v] = PUT(line[v].factor * ((REAL)GET(given[u].dy.e[v]) - line[v].shift - apart * line[v].slope)); \
    }                                                                                                          \
    dx[given[u].at] = made;                                                                                    \
  }
  DP_BATCH_EACH_ROW(column, DP_BATCH_LOADS / 2, TAKE);
#undef TAKE
}
