// The sums of a channel's gradient, joined from those of its shares, and what is kept of them. A file that includes
// this has U defined, the type of parameters and statistics.
#ifndef DP_BACKENDS_CUDA_DEVICE_BATCH_GRADIENT_H
#define DP_BACKENDS_CUDA_DEVICE_BATCH_GRADIENT_H

#include "backends/cuda/device/batch_vector.h"
#include "backends/cuda/device/block.h"

DP_DEVICE void LOCAL(keep)(const dp_batch_arguments *a, dp_i64 c, int which, double sum) {
  void *result = which ? a->dscale : a->dbias;
  double *total = a->totals + 2 * c + which;
  *total = a->first_group ? sum : *total + sum;
  if (a->last_group && result) ((U *)result)[c] = PUT_U(*total);
}

// Of channel c, by all threads of a block; one of them keeps the sums if `keeps`. dx = factor * (dy - shift - (x -
// mean) * slope).
DP_DEVICE dp_batch_line LOCAL(line)(const dp_batch_arguments *a, dp_i64 c, int keeps, double *shared) {
  const double *partial = a->partial + 2 * c * a->splits;
  double sum = 0, products = 0;
  for (dp_i64 k = dp_thread(); k < a->splits; k += dp_threads()) {
    sum += partial[2 * k];
    products += partial[2 * k + 1];
  }
  sum = dp_block_sum(sum, shared);
  products = dp_block_sum(products, shared);
  if (dp_thread() == 0 && keeps) {
    LOCAL(keep)(a, c, 0, sum);
    LOCAL(keep)(a, c, 1, products);
  }
  const double invstd = (double)GET_U(((const U *)a->given_invstd)[c]), count = (double)(a->samples * a->inner);
  const dp_batch_line made = {(double)GET_U(((const U *)a->given_mean)[c]),
                              (double)GET_U(((const U *)a->scale)[c]) * invstd, sum / count, products / count * invstd};
  return made;
}

#endif
