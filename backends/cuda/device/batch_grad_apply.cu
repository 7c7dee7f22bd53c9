// dx = scale * invstd * (dy - sum(dy) / count - z * sum(dy * z) / count) for a share of a channel; dbias and dscale are
// the two sums, of all groups.
#include "backends/cuda/device/batch_share.h"

DP_DEVICE void LOCAL(keep)(const dp_batch_arguments *a, dp_i64 c, int which, double sum) {
  void *result = which ? a->dscale : a->dbias;
  double *total = a->totals + 2 * c + which;
  *total = a->first_group ? sum : *total + sum;
  if (a->last_group && result) ((U *)result)[c] = PUT_U(*total);
}

DP_BLOCK_KERNEL(dp_batch_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_batch_share s = dp_batch_share_of(&a, a.parts);
  const dp_i64 c = s.channel;
  const double *partial = a.partial + 2 * c * a.splits;
  double sum = 0, products = 0;
  for (dp_i64 k = dp_thread(); k < a.splits; k += dp_threads()) {
    sum += partial[2 * k];
    products += partial[2 * k + 1];
  }
  sum = dp_block_sum(sum, shared);
  products = dp_block_sum(products, shared);
  if (dp_thread() == 0 && s.share == 0) {
    LOCAL(keep)(&a, c, 0, sum);
    LOCAL(keep)(&a, c, 1, products);
  }
  if (!a.dx) return;
  const double mean = (double)GET_U(((const U *)a.given_mean)[c]),
               invstd = (double)GET_U(((const U *)a.given_invstd)[c]);
  const double factor = (double)GET_U(((const U *)a.scale)[c]) * invstd, count = (double)(a.samples * a.inner);
  const double shift = sum / count, slope = products / count * invstd;
  const LOCAL(vector) *x = (const LOCAL(vector) *)a.x, *dy = (const LOCAL(vector) *)a.dy;
  LOCAL(vector) *dx = (LOCAL(vector) *)a.dx;
  dp_batch_walk walk = dp_batch_walk_of(&a, &s);
#define TAKE(COUNT)                                                                     \
  dp_i64 at[COUNT];                                                                     \
  LOCAL(vector) held[COUNT], held_dy[COUNT];                                            \
  DP_UNROLL                                                                             \
  for (int u = 0; u < (COUNT); u++) {                                                   \
    at[u] = dp_batch_next(&walk);                                                       \
    held[u] = x[at[u]];                                                                 \
    held_dy[u] = dy[at[u]];                                                             \
  }                                                                                     \
  DP_UNROLL                                                                             \
  for (int u = 0; u < (COUNT); u++) {                                                   \
    LOCAL(vector) made;                                                                 \
    DP_UNROLL                                                                           \
    for (int v = 0; v < VECTOR; v++) {                                                  \
      const double apart = (double)GET(held[u].e[v]) - mean;                            \
      made.e[v] = PUT(factor * ((double)GET(held_dy[u].e[v]) - shift - apart * slope)); \
    }                                                                                   \
    dx[at[u]] = made;                                                                   \
  }
  DP_BATCH_EACH(&s, DP_BATCH_LOADS / 2, TAKE);
#undef TAKE
}
