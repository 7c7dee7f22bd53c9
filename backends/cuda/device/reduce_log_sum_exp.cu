// The logarithm of the sum of e^x, in double, of elements of type T, a block for each result. Computed relative to the
// largest x; what is infinite or NaN needs no shift.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/reduce_log_sum_exp.h"

DP_BLOCK_KERNEL(dp_log_sum_exp_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const T *x = (const T *)a.x + dp_reduce_offset(&a.kept, dp_block());
  double most = -DP_INFINITY, sum = 0;
  for (dp_i64 i = dp_thread(); i < a.reduced.count; i += dp_threads())
    most = fmax(most, (double)GET(x[dp_reduce_offset(&a.reduced, i)]));
  most = dp_block_max(most, shared);
  if (most - most != 0) most = 0;
  for (dp_i64 i = dp_thread(); i < a.reduced.count; i += dp_threads())
    sum += exp((double)GET(x[dp_reduce_offset(&a.reduced, i)]) - most);
  sum = dp_block_sum(sum, shared);
  if (dp_thread() == 0) ((T *)a.y)[dp_block()] = PUT(log(sum) + most);
}
