// Matrix products for Gemm and MatMul. Floats are summed in float64, integers wrap.
#ifndef DP_BACKENDS_CPU_REFERENCE_MATRIX_H
#define DP_BACKENDS_CPU_REFERENCE_MATRIX_H

#include "backends/cpu/reference/reference.h"

// A matrix whose element (i, j) is data[i * row + j * column]; strides may be 0 (broadcast).
typedef struct {
  const void *data;
  int64_t row, column;
} dp_matrix;

// y (m, n), dense = alpha * a (m, k) * b (k, n) + beta * c (m, n); c.data NULL: no c. Each element is summed in the
// order of k, so a split by rows or columns does not change any bit.
void dp_matrix_multiply(dp_dtype dtype, int64_t m, int64_t n, int64_t k, double alpha, dp_matrix a, dp_matrix b,
                        double beta, dp_matrix c, void *y);

#endif
