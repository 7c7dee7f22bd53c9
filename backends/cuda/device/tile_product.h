// A product of two tiles in shared memory by the threads of a block, whose results stay in registers: what products of
// matrices, of any layout, are put together from. Sums are taken in a type A.
#ifndef DP_BACKENDS_CUDA_DEVICE_TILE_PRODUCT_H
#define DP_BACKENDS_CUDA_DEVICE_TILE_PRODUCT_H

#include "backends/cuda/device/prelude.h"

// A tile of the result has DP_TILE_SIDE rows and columns, and each of the block's threads has DP_TILE_EACH by
// DP_TILE_EACH of its elements. A tile of an operand has as many rows, or columns, and DP_TILE_DEPTH steps of the sum:
// as many as there are threads along a side, so that what the threads have of one row of results is such a tile again.
enum {
  DP_TILE_SIDE = 32,
  DP_TILE_DEPTH = 16,
  DP_TILE_THREADS = 256,
  DP_TILE_ACROSS = DP_TILE_DEPTH,  // threads along a side
  DP_TILE_EACH = DP_TILE_SIDE / DP_TILE_ACROSS,
  DP_TILE_STEP = DP_TILE_SIDE + 1,  // one more than a step has, so that threads that write several use different banks
  DP_TILE_SHARED = DP_TILE_DEPTH * DP_TILE_STEP
};

// The row and column of the thread's element (i, j) in the tile. A warp's neighbours have neighbouring columns.
DP_DEVICE int dp_tile_row(int i) { return dp_thread() / DP_TILE_ACROSS + i * DP_TILE_ACROSS; }
DP_DEVICE int dp_tile_column(int j) { return dp_thread() % DP_TILE_ACROSS + j * DP_TILE_ACROSS; }

// sums[i * DP_TILE_EACH + j] += the sum over k of x[k][row of i] * y[k][column of j], in the order of k. x, y:
// (DP_TILE_DEPTH, DP_TILE_STEP), in DP_SHARED memory, which others may have written before a barrier.
#define DP_TILE_PRODUCT(NAME_OF, A)                                                               \
  DP_DEVICE void NAME_OF(const A *x, const A *y, A *sums) {                                       \
    for (int k = 0; k < DP_TILE_DEPTH; k++) {                                                     \
      A row[DP_TILE_EACH], column[DP_TILE_EACH];                                                  \
      for (int i = 0; i < DP_TILE_EACH; i++) row[i] = x[k * DP_TILE_STEP + dp_tile_row(i)];       \
      for (int j = 0; j < DP_TILE_EACH; j++) column[j] = y[k * DP_TILE_STEP + dp_tile_column(j)]; \
      for (int i = 0; i < DP_TILE_EACH; i++)                                                      \
        for (int j = 0; j < DP_TILE_EACH; j++) sums[i * DP_TILE_EACH + j] += row[i] * column[j];  \
    }                                                                                             \
  }

// Fills a tile from memory, with elements of type T: (lines, steps) of them, the others are 0. Neighbours read what is
// nearer: steps or lines.
#define DP_TILE_LOAD(NAME_OF, A)                                                                         \
  DP_DEVICE void NAME_OF(const T *from, dp_i64 lines, dp_i64 line, dp_i64 steps, dp_i64 step, A *tile) { \
    const bool by_steps = step <= line;                                                                  \
    for (int n = dp_thread(); n < DP_TILE_SIDE * DP_TILE_DEPTH; n += dp_threads()) {                     \
      const int i = by_steps ? n / DP_TILE_DEPTH : n % DP_TILE_SIDE;                                     \
      const int k = by_steps ? n % DP_TILE_DEPTH : n / DP_TILE_SIDE;                                     \
      tile[k * DP_TILE_STEP + i] = i < lines && k < steps ? (A)GET(from[i * line + k * step]) : (A)0;    \
    }                                                                                                    \
  }

#endif
