// Arguments of product.cu.
#ifndef DP_BACKENDS_CUDA_DEVICE_PRODUCT_H
#define DP_BACKENDS_CUDA_DEVICE_PRODUCT_H

#include "backends/cuda/device/tile_product.h"

enum { DP_PRODUCT_DIMS = 8 };

// y (..., m, n), dense = alpha * a (..., m, k) * b (..., k, n) + beta * c (m, n). Strides in elements, 0 where an
// operand is broadcast. c: NULL where there is none.
typedef struct {
  const void *a, *b, *c;
  void *y;
  long long count;  // elements of y
  long long m, n, k;
  long long a_row, a_column, b_row, b_column, c_row, c_column;
  long long rank, extents[DP_PRODUCT_DIMS];  // of the leading dims
  long long a_stride[DP_PRODUCT_DIMS], b_stride[DP_PRODUCT_DIMS];
  double alpha, beta;
} dp_product_arguments;

// The tiles along so many rows or columns. A block takes one tile of one product.
DP_DEVICE dp_i64 dp_product_tiles(dp_i64 extent) { return (extent + DP_TILE_SIDE - 1) / DP_TILE_SIDE; }

#endif
