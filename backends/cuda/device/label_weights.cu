// Sums the weights of all labels, by one block.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/labels.h"

DP_LABELS(LOCAL(weight))

DP_BLOCK_KERNEL(dp_cross_entropy_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  double sum = 0;
  dp_i64 label;
  for (dp_i64 i = dp_thread(); i < a.labels_count; i += dp_threads()) sum += LOCAL(weight)(&a, i, &label);
  sum = dp_block_sum(sum, shared);
  if (dp_thread() == 0) *a.sums = sum == 0 ? 1 : sum;
}
