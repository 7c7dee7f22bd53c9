// The sums of dy and of dy * z over a share of a channel; z = (x - mean) * invstd.
#include "backends/cuda/device/batch_given.h"
#include "backends/cuda/device/batch_share.h"

DP_BLOCK_KERNEL(dp_batch_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_batch_share s = dp_batch_share_of(&a, a.splits);
  const double mean = (double)GET_U(((const U *)a.given_mean)[s.channel]);
  const double invstd = (double)GET_U(((const U *)a.given_invstd)[s.channel]);
  const double factor = (double)GET_U(((const U *)a.scale)[s.channel]) * invstd;
  const double shift = RELU == DP_BATCH_AGAIN ? (double)GET_U(((const U *)a.bias)[s.channel]) : 0;
  const LOCAL(forward) forward = {(REAL)mean, (REAL)factor, (REAL)shift};
  double sum = 0, products = 0;
  dp_batch_walk walk = dp_batch_walk_of(&a, &s);
#define TAKE(COUNT)                                                                   \
  LOCAL(given) given[COUNT];                                                          \
  DP_UNROLL                                                                           \
  for (int u = 0; u < (COUNT); u++) LOCAL(take)(&a, dp_batch_next(&walk), &given[u]); \
  DP_UNROLL                                                                           \
  for (int u = 0; u < (COUNT); u++) {                                                 \
    LOCAL(give)(&given[u], &forward, 0);                                              \
    LOCAL(leave)(&a, &given[u]);                                                      \
  }                                                                                   \
  DP_UNROLL                                                                           \
  for (int k = 0; k < (COUNT)*VECTOR; k++) {                                          \
    const double one = (double)GET(given[k / VECTOR].dy.e[k % VECTOR]);               \
    sum += one;                                                                       \
    products += one * ((double)GET(given[k / VECTOR].x.e[k % VECTOR]) - mean);        \
  }
  DP_BATCH_EACH(&s, DP_BATCH_LOADS / 2, TAKE);
#undef TAKE
  sum = dp_block_sum(sum, shared);
  products = dp_block_sum(products, shared);
  if (dp_thread()) return;
  double *partial = a.partial + 2 * (s.channel * a.splits + s.share);
  partial[0] = sum;
  partial[1] = products * invstd;
}
