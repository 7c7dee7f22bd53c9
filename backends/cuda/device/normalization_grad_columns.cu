// Parts of the sums over rows, from the rows' statistics: a thread adds some rows of one column. A block has
// neighbouring columns of part dp_block() % sums.
#include "backends/cuda/device/normalization_grad.h"

DP_KERNEL(dp_normalization_grad_arguments) {
  const dp_i64 part = dp_block() % a.sums, column = dp_block() / a.sums * dp_threads() + dp_thread();
  if (column >= a.length) return;
  double products = 0, sum = 0;
  for (dp_i64 row = a.rows * part / a.sums; row < a.rows * (part + 1) / a.sums; row++) {
    const double dy = (double)GET(((const T *)a.dy)[row * a.length + column]);
    const double x = (double)GET(((const T *)a.x)[row * a.length + column]);
    products += dy * ((x - a.statistics[row].mean) * a.statistics[row].invstd);
    sum += dy;
  }
  C *to = (C *)a.parts + part * SUMS * a.length + column;
  to[0] = (C)products;
  if (SUMS > 1) to[a.length] = (C)sum;
}
