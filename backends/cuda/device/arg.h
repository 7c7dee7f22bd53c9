// ArgMax and ArgMin.
#ifndef DP_BACKENDS_CUDA_DEVICE_ARG_H
#define DP_BACKENDS_CUDA_DEVICE_ARG_H

#include "backends/cuda/device/block.h"
#include "backends/cuda/device/rows.h"

// Results of a block: where neighbouring threads read neighbouring results' elements, and where each warp has a row.
enum { DP_ARG_COLUMNS = 32, DP_ARG_ROWS = DP_BLOCK_MOST / DP_WARP };

// x (outer, length, inner); results (outer, inner). Block b works on share b % shares of its results' elements, or of
// their candidates, and leaves an index for each.
typedef struct {
  long long results, length, inner;
  long long n, shares;          // of a result: candidates, or `length`; blocks that share them
  const long long *candidates;  // (results, n): indices along the middle dim; NULL: all
  long long aligned;            // whether x can be read by vectors, but for rows' ends
  const void *x;
  long long *y;  // (results, shares)
} dp_arg_arguments;

#endif
