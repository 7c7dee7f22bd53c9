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
} dp_normalization_arguments;

#endif
