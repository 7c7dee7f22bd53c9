// Adds the parts of sums over rows, in order: DP_NORMALIZATION_JOINING threads add every so many parts of a column, and
// one adds theirs. SUMS results, of which one may not be wanted.
#include "backends/cuda/device/normalization_grad.h"

enum { LOCAL(side) = DP_NORMALIZATION_THREADS / DP_NORMALIZATION_JOINING };  // columns of a block

DP_BLOCK_KERNEL(dp_normalization_grad_arguments) {
  DP_SHARED double shared[DP_NORMALIZATION_THREADS];
  const int own = dp_thread() / LOCAL(side);
  const dp_i64 columns = SUMS * a.length, column = dp_block() * LOCAL(side) + dp_thread() % LOCAL(side);
  double sum = 0;
  if (column < columns)
    for (dp_i64 p = own; p < a.sums; p += DP_NORMALIZATION_JOINING)
      sum += (double)((const C *)a.parts)[p * columns + column];
  shared[dp_thread()] = sum;
  dp_barrier();
  if (own > 0 || column >= columns) return;
  for (int i = 1; i < DP_NORMALIZATION_JOINING; i++) sum += shared[i * LOCAL(side) + dp_thread()];
  T *y = (T *)(column < a.length ? a.dscale : a.dbias);
  if (y) y[column % a.length] = PUT(sum);
}
