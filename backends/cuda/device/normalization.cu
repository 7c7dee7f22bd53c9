// Normalises rows of type T, a block for each. Every element is read and written by the same thread in the end, so that
// y may be x.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/held.h"
#include "backends/cuda/device/normalization.h"

DP_HOLD(LOCAL(hold))

DP_BLOCK_KERNEL(dp_normalization_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  DP_SHARED T held[DP_HELD];
  dp_i64 stride = 1;  // held or not
  const dp_i64 row = dp_block(), first = row % a.groups * a.per;
  const T *x = LOCAL(hold)((const T *)a.x + row * a.length, a.length, &stride, held);
  const T *scale = (const T *)a.scale, *bias = (const T *)a.bias;
  T *y = (T *)a.y + row * a.length;
  const double count = a.length ? (double)a.length : 1;
  double mean = 0, square = 0;
  if (a.about_mean) {
    for (dp_i64 i = dp_thread(); i < a.length; i += dp_threads()) mean += (double)GET(x[i]);
    mean = dp_block_sum(mean, shared) / count;
  }
  for (dp_i64 i = dp_thread(); i < a.length; i += dp_threads())
    square += ((double)GET(x[i]) - mean) * ((double)GET(x[i]) - mean);
  const double invstd = 1 / sqrt(dp_block_sum(square, shared) / count + a.epsilon);
  for (dp_i64 i = dp_thread(); i < a.length; i += dp_threads()) {
    const dp_i64 channel = first + i / a.inner;
    y[i] = PUT(((double)GET(x[i]) - mean) * invstd * (double)GET(scale[channel]) +
               (bias ? (double)GET(bias[channel]) : 0));
  }
  if (dp_thread()) return;
  if (a.mean) ((T *)a.mean)[row] = PUT(mean);
  if (a.invstd) ((T *)a.invstd)[row] = PUT(invstd);
}
