// dx of rows of type T that are too long to be held, a block for each, which goes through its row four times. Leaves
// the row's statistics for the sums over rows.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/moments.h"
#include "backends/cuda/device/normalization_grad.h"

DP_MOMENTS(LOCAL(moments))

DP_BLOCK_KERNEL(dp_normalization_grad_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const double count = a.length ? (double)a.length : 1;
  const T *x = (const T *)a.x + dp_block() * a.length, *dy = (const T *)a.dy + dp_block() * a.length;
  const T *scale = (const T *)a.scale;
  T *dx = (T *)a.dx + dp_block() * a.length;
  const dp_moments m = LOCAL(moments)(x, a.length, ABOUT_MEAN, shared);
  const double invstd = 1 / sqrt(m.square / count + a.epsilon);
  double sum = 0, along = 0;
  for (dp_i64 i = dp_thread(); i < a.length; i += dp_threads()) {
    const double g = (double)GET(dy[i]) * (double)GET(scale[i]);
    sum += g;
    along += g * ((double)GET(x[i]) - m.mean);
  }
  along = dp_block_sum(along, shared) * invstd / count;
  sum = ABOUT_MEAN ? dp_block_sum(sum, shared) / count : 0;
  for (dp_i64 i = dp_thread(); i < a.length; i += dp_threads()) {
    const double h = ((double)GET(x[i]) - m.mean) * invstd;
    dx[i] = PUT(invstd * ((double)GET(dy[i]) * (double)GET(scale[i]) - sum - h * along));
  }
  if (dp_thread()) return;
  const dp_normalization_row found = {m.mean, invstd};
  a.statistics[dp_block()] = found;
}
