// How long rows are divided among blocks, by extents alone, so that results do not depend on the GPU.
#ifndef DP_BACKENDS_CUDA_KERNELS_SHARES_H
#define DP_BACKENDS_CUDA_KERNELS_SHARES_H

#include "backends/cuda/device/held.h"
#include "ir/base/base.h"

// Blocks that keep a GPU busy, and elements that are worth one.
enum { DP_CUDA_ROW_BLOCKS = 512, DP_CUDA_ROW_SHARE = 2048 };

// The blocks that share a row: 1 unless it is longer than a block can hold and rows are few.
static inline int64_t dp_cuda_row_shares(int64_t rows, int64_t length) {
  if (length <= DP_HELD || rows <= 0) return 1;
  return dp_max_i64(1, dp_min_i64(DP_CUDA_ROW_BLOCKS / rows, length / DP_CUDA_ROW_SHARE));
}

// What the parts of `bytes` bytes of all shares take, for any number of rows.
static inline uint64_t dp_cuda_row_parts(int64_t length, size_t bytes) {
  return length <= DP_HELD ? 0 : DP_CUDA_ROW_BLOCKS * bytes;
}

#endif
