// Joins the statistics of a channel's shares and normalises a share by them, with what stands behind.
#include "backends/cuda/device/batch_behind.h"
#include "backends/cuda/device/batch_share.h"
#include "backends/cuda/device/batch_statistics.h"

DP_BLOCK_KERNEL(dp_batch_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_batch_share s = dp_batch_share_of(&a, a.parts);
  const dp_batch_line of = LOCAL(line)(&a, s.channel, s.share == 0, shared);
  const LOCAL(vector) *x = (const LOCAL(vector) *)a.x;
  LOCAL(vector) *y = (LOCAL(vector) *)a.y;
  dp_batch_walk walk = dp_batch_walk_of(&a, &s);
#define TAKE(COUNT)                                                                                                 \
  dp_i64 at[COUNT];                                                                                                 \
  LOCAL(vector) held[COUNT], other[COUNT];                                                                          \
  DP_UNROLL                                                                                                         \
  for (int u = 0; u < (COUNT); u++) {                                                                               \
    at[u] = dp_batch_next(&walk);                                                                                   \
    held[u] = x[at[u]];                                                                                             \
    LOCAL(take_other)(&a, at[u], &other[u]);                                                                        \
  }                                                                                                                 \
  DP_UNROLL                                                                                                         \
  for (int u = 0; u < (COUNT); u++) {                                                                               \
    LOCAL(vector) made;                                                                                             \
    DP_UNROLL                                                                                                       \
    for (int v = 0; v < VECTOR; v++) made.e[v] = PUT(((double)GET(held[u].e[v]) - of.mean) * of.factor + of.shift); \
    LOCAL(finish)(&made, &other[u]);                                                                                \
    y[at[u]] = made;                                                                                                \
  }
  DP_BATCH_EACH(&s, DP_BATCH_LOADS, TAKE);
#undef TAKE
}
