// The path through a strided tensor, row by row of a dense one. A row is the dense tensor's last dim.
#ifndef DP_BACKENDS_BASE_STRIDED_ROWS_H
#define DP_BACKENDS_BASE_STRIDED_ROWS_H

#include "ir/kernel/kernel.h"

typedef struct {
  int rank;                      // at least 1
  int64_t extents[DP_MAX_RANK];  // of the dense tensor
  int64_t strides[DP_MAX_RANK];  // in elements of the strided tensor
  int64_t start;
} dp_strided_rows;

// The path of a scalar.
static inline dp_strided_rows dp_strided_rows_scalar(void) { return (dp_strided_rows){1, {1}, {0}, 0}; }

// The offset in the strided tensor of a row of the dense one.
static inline int64_t dp_strided_rows_at(const dp_strided_rows *r, int64_t row) {
  int64_t at = r->start;
  for (int d = r->rank - 2; d >= 0; d--) {
    at += row % r->extents[d] * r->strides[d];
    row /= r->extents[d];
  }
  return at;
}

#endif
