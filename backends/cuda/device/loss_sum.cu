// The losses of all labels, summed and divided, by one block.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/cross_entropy.h"

DP_BLOCK_KERNEL(dp_cross_entropy_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  double sum = 0;
  for (dp_i64 i = dp_thread(); i < a.labels_count; i += dp_threads()) sum += a.losses[i];
  sum = dp_block_sum(sum, shared);
  if (dp_thread() == 0) *(T *)a.y = PUT(sum / (a.divisor != 0 ? a.divisor : *a.sums));
}
