// Normalises rows of contiguous elements: layer, RMS, group and instance normalization.
#ifndef DP_BACKENDS_CUDA_DEVICE_NORMALIZATION_H
#define DP_BACKENDS_CUDA_DEVICE_NORMALIZATION_H

#include "backends/cuda/device/rows.h"

// Element i of row r uses scale and bias number r % groups * per + i / inner.
typedef struct {
  long long rows, length, groups, per, inner;
  long long aligned;  // whether a row, scale and bias can be read by vectors
  int about_mean;     // 0: use the mean square and subtract nothing
  double epsilon;
  long long shares;              // of a row
  dp_moments *parts;             // (rows, shares); NULL: a block has a row
  const void *x, *scale, *bias;  // bias may be NULL
  void *y, *mean, *invstd;       // of each row its mean and 1 / sqrt(variance + epsilon); may be NULL
  const void *other, *row;       // what is added to x, and to each row of x before that
  void *sum;                     // what comes out, and is normalized
} dp_normalization_arguments;

// Whether floats had room for the squares that it comes from, with epsilon: below 1e-36 these lose digits.
DP_DEVICE bool dp_is_variance_of_floats(double variance) { return variance >= 1e-36 && variance - variance == 0; }

#endif
