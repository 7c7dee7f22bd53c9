// The count, mean and sum of centred squares of a share of a channel, read once: sums of the distances from the share's
// first element and of their squares. That element is less than the square root of the count deviations from the mean,
// so what the difference of the two cancels is at most the count times a rounding.
#include "backends/cuda/device/batch_share.h"

DP_BLOCK_KERNEL(dp_batch_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_batch_share s = dp_batch_share_of(&a, a.splits);
  const dp_i64 vectors = s.end - s.first, plane = a.inner / VECTOR;
  const dp_i64 first = (s.first / plane * a.channels + s.channel) * plane + s.first % plane;
  const LOCAL(vector) *x = (const LOCAL(vector) *)a.x;
  const double origin = vectors ? dp_batch_origin((double)GET(x[first].e[0])) : 0, count = (double)vectors * VECTOR;
  double sum = 0, squares = 0;
  dp_batch_walk walk = dp_batch_walk_of(&a, &s);
#define TAKE(COUNT)                                                        \
  LOCAL(vector) held[COUNT];                                               \
  DP_UNROLL                                                                \
  for (int u = 0; u < (COUNT); u++) held[u] = x[dp_batch_next(&walk)];     \
  DP_UNROLL                                                                \
  for (int k = 0; k < (COUNT)*VECTOR; k++) {                               \
    const double z = (double)GET(held[k / VECTOR].e[k % VECTOR]) - origin; \
    sum += z;                                                              \
    squares += z * z;                                                      \
  }
  DP_BATCH_EACH(&s, DP_BATCH_LOADS, TAKE);
#undef TAKE
  sum = dp_block_sum(sum, shared);
  squares = dp_block_sum(squares, shared);
  if (dp_thread()) return;
  const double apart = count > 0 ? sum / count : 0, centred = squares - sum * apart;
  double *partial = a.partial + 3 * (s.channel * a.splits + s.share);
  partial[0] = count;
  partial[1] = count > 0 ? origin + apart : 0;
  partial[2] = centred < 0 ? 0 : centred;  // NaN stays
}
