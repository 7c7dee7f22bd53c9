// Reductions over some dims of a tensor.
#ifndef DP_BACKENDS_CUDA_DEVICE_REDUCE_H
#define DP_BACKENDS_CUDA_DEVICE_REDUCE_H

#include "backends/cuda/device/prelude.h"

// COLUMNS: threads side by side. JOINED: the same of those that join parts.
enum { DP_REDUCE_RANK = 8, DP_REDUCE_THREADS = 256, DP_REDUCE_COLUMNS = 32, DP_REDUCE_JOINED = 8 };

typedef struct {
  long long rank, count;  // dims; their elements
  long long extents[DP_REDUCE_RANK], strides[DP_REDUCE_RANK];
} dp_reduce_dims;

// Where element i of the dims is, which are `rank`. Where that is a constant, one dim takes no division.
DP_DEVICE dp_i64 dp_reduce_offset(const dp_reduce_dims *dims, int rank, dp_i64 i) {
  dp_i64 offset = 0;
  for (int d = rank - 1; d > 0; d--) {
    offset += i % dims->extents[d] * dims->strides[d];
    i /= dims->extents[d];
  }
  return offset + i * dims->strides[0];
}

// Block b reduces share b % splits of the results that group b / splits of threads has. With more than one split, `y`
// is (splits, results) of the type A, and a second launch joins them.
typedef struct {
  dp_reduce_dims kept, reduced;  // each has at least one dim
  long long splits;
  long long aligned;  // whether vectors can be read at once
  double divisor;     // of a mean
  const void *x;
  void *y;
} dp_reduce_arguments;

#endif
