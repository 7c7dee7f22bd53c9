// Means of planes over type T, where channels are neighbours: a block for `columns` channels of a sample. Sums are
// taken in float64: each thread's places in order, then the threads' sums.
#include "backends/cuda/device/plane_mean.h"
#include "backends/cuda/device/prelude.h"

DP_BLOCK_KERNEL(dp_plane_mean_arguments) {
  DP_SHARED double shared[DP_PLANE_MEAN_THREADS];
  const int columns = (int)a.columns, rows = dp_threads() / columns, row = dp_thread() / columns;
  const dp_i64 tiles = (a.channels + columns - 1) / columns, n = dp_block() / tiles;
  const dp_i64 channel = dp_block() % tiles * columns + dp_thread() % columns;
  const T *x = (const T *)a.x + n * a.elements * a.channels + channel;
  double sum = 0;
  for (dp_i64 i = row; i < a.elements && row < rows && channel < a.channels; i += rows)
    sum += (double)GET(x[i * a.channels]);
  shared[dp_thread()] = sum;
  dp_barrier();
  if (row || channel >= a.channels) return;
  for (int r = 1; r < rows; r++) sum += shared[r * columns + dp_thread()];
  ((T *)a.y)[n * a.channels + channel] = PUT(a.divisor > 0 ? sum / a.divisor : 0);
}
