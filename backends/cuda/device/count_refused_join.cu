// Adds up what was counted of all shares, by one block.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/count_refused.h"

DP_BLOCK_KERNEL(dp_count_refused_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  double refused = 0;
  for (dp_i64 s = dp_thread(); s < a.shares; s += dp_threads()) refused += (double)a.parts[s];
  refused = dp_block_sum(refused, shared);
  if (dp_thread() == 0) dp_count_refused_end(&a, (dp_i64)refused);
}
