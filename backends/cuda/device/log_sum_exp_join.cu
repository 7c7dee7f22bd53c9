// Joins the parts of ReduceLogSumExp's results, a block for each.
#include "backends/cuda/device/exponentials.h"
#include "backends/cuda/device/reduce_log_sum_exp.h"

DP_BLOCK_KERNEL(dp_log_sum_exp_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_exponentials sum = dp_joined_exponentials(a.parts + dp_block() * a.shares, a.shares, shared);
  if (dp_thread() == 0) ((T *)a.y)[dp_block()] = PUT(log(sum.sum) + sum.most);
}
