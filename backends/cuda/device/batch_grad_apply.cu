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
  const LOCAL(vector) *x = (const LOCAL(vector) *)a.x;
  LOCAL(vector) *dx = (LOCAL(vector) *)a.dx;
  dp_batch_walk walk = dp_batch_walk_of(&a, &s);
#define TAKE(COUNT)                                                                               \
  dp_i64 at[COUNT];                                                                               \
  LOCAL(vector) held[COUNT];                                                                      \
  LOCAL(given) given[COUNT];                                                                      \
  DP_UNROLL                                                                                       \
  for (int u = 0; u < (COUNT); u++) {                                                             \
    at[u] = dp_batch_next(&walk);                                                                 \
    held[u] = x[at[u]];                                                                           \
    LOCAL(take)(&a, at[u], &given[u]);                                                            \
  }                                                                                               \
  DP_UNROLL                                                                                       \
  for (int u = 0; u < (COUNT); u++) {                                                             \
    LOCAL(vector) made;                                                                           \
    DP_UNROLL                                                                                     \
    for (int v = 0; v < VECTOR && RELU == DP_BATCH_AGAIN; v++)                                    \
      given[u].z.e[v] = LOCAL(before)(&held[u], v, of.mean, of.factor, bias);                     \
    LOCAL(give)(&given[u]);                                                                       \
    LOCAL(store_again)(&a, at[u], &given[u]);                                                     \
    DP_UNROLL                                                                                     \
    for (int v = 0; v < VECTOR; v++) {                                                            \
      const double apart = (double)GET(held[u].e[v]) - of.mean;                                   \
      made.e[v] = PUT(of.factor * ((double)GET(given[u].dy.e[v]) - of.shift - apart * of.slope)); \
    }                                                                                             \
    dx[at[u]] = made;                                                                             \
  }
  DP_BATCH_EACH(&s, DP_BATCH_LOADS / 2, TAKE);
#undef TAKE
}
