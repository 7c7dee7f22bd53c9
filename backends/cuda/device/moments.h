// The mean of numbers and the sum of squares about it, by the threads of a block. A file that includes this has T
// defined; DP_MOMENTS defines the function.
#ifndef DP_BACKENDS_CUDA_DEVICE_MOMENTS_H
#define DP_BACKENDS_CUDA_DEVICE_MOMENTS_H

#include "backends/cuda/device/block.h"
#include "backends/cuda/device/rows.h"

// Of contiguous elements. about_mean 0: the mean counts as 0.
#define DP_MOMENTS(NAME_OF)                                                                 \
  DP_DEVICE dp_moments NAME_OF(const T *x, dp_i64 length, int about_mean, double *shared) { \
    dp_moments made = {0, 0};                                                               \
    if (about_mean) {                                                                       \
      double sum = 0;                                                                       \
      for (dp_i64 i = dp_thread(); i < length; i += dp_threads()) sum += (double)GET(x[i]); \
      made.mean = dp_block_sum(sum, shared) / (length ? (double)length : 1);                \
    }                                                                                       \
    double square = 0;                                                                      \
    for (dp_i64 i = dp_thread(); i < length; i += dp_threads())                             \
      square += ((double)GET(x[i]) - made.mean) * ((double)GET(x[i]) - made.mean);          \
    made.square = dp_block_sum(square, shared);                                             \
    return made;                                                                            \
  }

// Of a row, whose shares have these. The squares of a share move to the row's mean by their count times the square of
// the distance. Chan, Golub, LeVeque: "Algorithms for computing the sample variance", 1983.
DP_DEVICE dp_moments dp_joined_moments(const dp_moments *parts, dp_i64 length, dp_i64 shares, double *shared) {
  double sum = 0, square = 0;
  for (dp_i64 s = dp_thread(); s < shares; s += dp_threads()) {
    const dp_row_share share = dp_row_share_of(length, shares, s);
    sum += parts[s].mean * (double)(share.end - share.first);
  }
  const double mean = dp_block_sum(sum, shared) / (double)length;
  for (dp_i64 s = dp_thread(); s < shares; s += dp_threads()) {
    const dp_row_share share = dp_row_share_of(length, shares, s);
    const double apart = parts[s].mean - mean;
    square += parts[s].square + apart * apart * (double)(share.end - share.first);
  }
  const dp_moments made = {mean, dp_block_sum(square, shared)};
  return made;
}

#endif
