// Normalises rows of type T, a block for each, or for each share. Every element is read and written by the same thread
// in the end, so that y may be x.
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
  const dp_i64 row = mine.row, first = row % a.groups * a.per;
  const T *x = LOCAL(hold)((const T *)a.x + row * a.length, a.length, &stride, held);
  const T *scale = (const T *)a.scale, *bias = (const T *)a.bias;
  T *y = (T *)a.y + row * a.length;
  const dp_moments found = a.parts ? dp_joined_moments(a.parts + row * a.shares, a.length, a.shares, shared)
                                   : LOCAL(moments)(x, a.length, a.about_mean, shared);
  const double invstd = 1 / sqrt(found.square / (a.length ? (double)a.length : 1) + a.epsilon);
  for (dp_i64 i = mine.first + dp_thread(); i < mine.end; i += dp_threads()) {
    const dp_i64 channel = first + i / a.inner;
    y[i] = PUT(((double)GET(x[i]) - found.mean) * invstd * (double)GET(scale[channel]) +
               (bias ? (double)GET(bias[channel]) : 0));
  }
  if (dp_thread() || mine.first) return;
  if (a.mean) ((T *)a.mean)[row] = PUT(found.mean);
  if (a.invstd) ((T *)a.invstd)[row] = PUT(invstd);
}
