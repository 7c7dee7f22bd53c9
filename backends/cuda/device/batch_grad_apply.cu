// dx = scale * invstd * (dy - sum(dy) / count - z * sum(dy * z) / count) for a share of a channel; dbias and dscale are
// the two sums, of all groups.
#include "backends/cuda/device/batch_given.h"
#include "backends/cuda/device/batch_gradient.h"
#include "backends/cuda/device/batch_share.h"

DP_BLOCK_KERNEL(dp_batch_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_batch_share s = dp_batch_share_of(&a, a.parts);
  const dp_batch_line of = LOCAL(line)(&a, s.channel, s.share == 0, shared);
  if (!a.dx) return;
  const double bias = RELU == DP_BATCH_AGAIN ? (double)GET_U(((const U *)a.bias)[s.channel]) : 0;
  const LOCAL(forward) forward = {(REAL)of.mean, (REAL)of.factor, (REAL)bias};
  LOCAL(vector) *dx = (LOCAL(vector) *)a.dx;
  dp_batch_walk walk = dp_batch_walk_of(&a, &s);
#define TAKE(COUNT)                                                                               \
  LOCAL(given) given[COUNT];                                                                      \
  DP_UNROLL                                                                                       \
  for (int u = 0; u < (COUNT); u++) LOCAL(take)(&a, dp_batch_next(&walk), &given[u]);             \
  DP_UNROLL                                                                                       \
  for (int u = 0; u < (COUNT); u++) {                                                             \
    LOCAL(vector) made;                                                                           \
    LOCAL(give)(&given[u], &forward, 0);                                                          \
    LOCAL(store_again)(&a, &given[u]);                                                            \
    DP_UNROLL                                                                                     \
    for (int v = 0; v < VECTOR; v++) {                                                            \
      const double apart = (double)GET(given[u].x.e[v]) - of.mean;                                \
      made.e[v] = PUT(of.factor * ((double)GET(given[u].dy.e[v]) - of.shift - apart * of.slope)); \
    }                                                                                             \
    dx[given[u].at] = made;                                                                       \
  }
  DP_BATCH_EACH(&s, DP_BATCH_LOADS / 2, TAKE);
#undef TAKE
}
