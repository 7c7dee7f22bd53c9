// The moments of each share of a row of type T, a block for each.
#include "backends/cuda/device/held.h"
#include "backends/cuda/device/moments.h"
#include "backends/cuda/device/normalization.h"

DP_HOLD(LOCAL(hold))
DP_MOMENTS(LOCAL(moments))

DP_BLOCK_KERNEL(dp_normalization_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  DP_SHARED T held[DP_HELD];
  dp_i64 stride = 1;  // held or not
  const dp_row_share mine = dp_row_share_of(a.length, a.shares, dp_block());
  const dp_i64 length = mine.end - mine.first;
  const T *x = LOCAL(hold)((const T *)a.x + mine.row * a.length + mine.first, length, &stride, held);
  const dp_moments found = LOCAL(moments)(x, length, a.about_mean, shared);
  if (dp_thread() == 0) a.parts[dp_block()] = found;
}
