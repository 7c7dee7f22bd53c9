// The extents of MatMul by NumPy's rules, for all its kernels.
#ifndef DP_BACKENDS_BASE_MAT_MUL_EXTENTS_H
#define DP_BACKENDS_BASE_MAT_MUL_EXTENTS_H

#include "ir/kernel/kernel.h"

// `batches` products of (m, k) by (k, n). An operand of rank 1 is a row on the left, a column on the right.
typedef struct {
  int64_t m, n, k, batches;
  int rank;                                              // of the leading dims
  int64_t extents[DP_MAX_RANK];                          // of the result
  int64_t a_stride[DP_MAX_RANK], b_stride[DP_MAX_RANK];  // elements; 0 where broadcast
} dp_mat_mul;

dp_mat_mul dp_mat_mul_extents(const dp_local *a, const dp_local *b);
// The element offsets of the matrices of product `batch`.
void dp_mat_mul_offsets(const dp_mat_mul *extents, int64_t batch, int64_t *a, int64_t *b);

#endif
