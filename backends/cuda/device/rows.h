// Rows, and the shares of long ones that a block works on.
#ifndef DP_BACKENDS_CUDA_DEVICE_ROWS_H
#define DP_BACKENDS_CUDA_DEVICE_ROWS_H

#include "backends/cuda/device/prelude.h"

// What blocks hand to those of the next launch, for each share of a row: the largest element, and the sum of all
// exponentials relative to it; or the mean, and the sum of squares about it.
typedef struct {
  double most, sum;
} dp_exponentials;
#define DP_NO_EXPONENTIALS \
  { -DP_INFINITY, 0 }

typedef struct {
  double mean, square;
} dp_moments;

// Block b works on elements first .. end - 1 of row b / shares.
typedef struct {
  dp_i64 row, first, end;
} dp_row_share;

DP_DEVICE dp_row_share dp_row_share_of(dp_i64 length, dp_i64 shares, dp_i64 block) {
  const dp_i64 s = block % shares;
  const dp_row_share made = {block / shares, length * s / shares, length * (s + 1) / shares};
  return made;
}

// x, y (outer, length, inner): rows run along the middle dim, and are numbered outer by inner.
typedef struct {
  long long length, inner;
  long long shares;              // of a row
  const dp_exponentials *parts;  // (rows, shares), of x; NULL: a block has a row, and sees for itself
  const void *x;
  void *y;
} dp_softmax_arguments;

#endif
