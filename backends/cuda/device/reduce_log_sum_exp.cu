// The logarithm of the sum of e^x, in double, of elements of type T: a block for each result, or for each share of it,
// which leaves its part.
#include "backends/cuda/device/exponentials.h"
#include "backends/cuda/device/reduce_log_sum_exp.h"

DP_ADD_EXPONENTIAL(LOCAL(add))

DP_BLOCK_KERNEL(dp_log_sum_exp_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_row_share mine = dp_row_share_of(a.reduced.count, a.shares, dp_block());
  const T *x = (const T *)a.x + dp_reduce_offset(&a.kept, (int)a.kept.rank, mine.row);
  dp_exponentials sum = DP_NO_EXPONENTIALS;
  for (dp_i64 i = mine.first + dp_thread(); i < mine.end; i += dp_threads())
    LOCAL(add)(&sum, (double)GET(x[dp_reduce_offset(&a.reduced, (int)a.reduced.rank, i)]));
  sum = dp_block_exponentials(sum, shared);
  if (dp_thread()) return;
  if (a.parts)
    a.parts[dp_block()] = sum;
  else
    ((T *)a.y)[mine.row] = PUT(log(sum.sum) + sum.most);
}
