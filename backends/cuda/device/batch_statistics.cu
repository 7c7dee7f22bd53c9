// The count, mean and sum of centred squares of a share of a channel.
#include "backends/cuda/device/batch_share.h"

DP_BLOCK_KERNEL(dp_batch_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_batch_share s = dp_batch_share_of(&a, a.splits);
  const double count = (double)(s.end - s.first);
  double sum = 0, squares = 0;
  DP_BATCH_EACH(&a, &s, i) sum += (double)GET(((const T *)a.x)[dp_batch_at(&a, &s, i)]);
  const double mean = count > 0 ? dp_block_sum(sum, shared) / count : 0;
  DP_BATCH_EACH(&a, &s, i) {
    const double z = (double)GET(((const T *)a.x)[dp_batch_at(&a, &s, i)]) - mean;
    squares += z * z;
  }
  squares = dp_block_sum(squares, shared);
  if (dp_thread()) return;
  double *partial = a.partial + 3 * (s.channel * a.splits + s.share);
  partial[0] = count;
  partial[1] = mean;
  partial[2] = squares;
}
