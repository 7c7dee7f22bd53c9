// The sums of dy and of dy * z over a share of a channel; z = (x - mean) * invstd.
#include "backends/cuda/device/batch_share.h"

DP_BLOCK_KERNEL(dp_batch_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_batch_share s = dp_batch_share_of(&a, a.splits);
  const double mean = (double)GET(((const T *)a.given_mean)[s.channel]);
  const double invstd = (double)GET(((const T *)a.given_invstd)[s.channel]);
  double sum = 0, products = 0;
  DP_BATCH_EACH(&a, &s, i) {
    const dp_i64 at = dp_batch_at(&a, &s, i);
    const double dy = (double)GET(((const T *)a.dy)[at]);
    sum += dy;
    products += dy * ((double)GET(((const T *)a.x)[at]) - mean) * invstd;
  }
  sum = dp_block_sum(sum, shared);
  products = dp_block_sum(products, shared);
  if (dp_thread()) return;
  double *partial = a.partial + 2 * (s.channel * a.splits + s.share);
  partial[0] = sum;
  partial[1] = products;
}
