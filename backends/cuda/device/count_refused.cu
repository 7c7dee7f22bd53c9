// Counts the elements of type T that a node would refuse, by one block. What a run that is not yet over has refused
// counts too: the host has not seen it, and may have issued this run already.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/count_refused.h"

DP_BLOCK_KERNEL(dp_count_refused_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_i64 limit = a.scale * (a.n ? *a.n : 0) + a.offset, least = a.negative ? -limit : 0;
  double refused = 0;
  for (dp_i64 i = dp_thread(); i < a.count; i += dp_threads()) {
    const dp_i64 x = (dp_i64)((const T *)a.x)[i];
    const bool taken = a.bounded ? (x >= least && x < limit) || (a.has_other && x == a.other) : x != 0;
    refused += !taken;
  }
  refused = dp_block_sum(refused, shared);
  if (dp_thread() == 0) {
    *a.y = (dp_i64)refused + (a.reporter.fault->refused != 0);
    if (refused > 0) a.reporter.fault->refused = 1;
  }
}
