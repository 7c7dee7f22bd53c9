// Joins the sums of a channel's gradient, where channels are neighbours: a block for each.
#include "backends/cuda/device/batch_gradient.h"

DP_BLOCK_KERNEL(dp_batch_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_batch_line line = LOCAL(line)(&a, dp_block(), 1, shared);
  if (dp_thread() == 0) LOCAL(put_line)(&a, dp_block(), line);
}
