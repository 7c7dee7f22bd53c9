// The way of Slice and its gradient through the long tensor, row by row of the short one.
#ifndef DP_BACKENDS_CPU_REFERENCE_SLICE_WALK_H
#define DP_BACKENDS_CPU_REFERENCE_SLICE_WALK_H

#include "backends/cpu/reference/reference.h"

typedef struct {
  int rank;                      // at least 1
  int64_t extents[DP_MAX_RANK];  // of the short tensor
  int64_t steps[DP_MAX_RANK];    // in elements of the long one
  int64_t start;
} dp_slice_walk;

// large, small: what is here of the long and of the short tensor.
dp_status dp_slice_walk_make(const dp_node *node, const dp_local *large, const dp_local *small, dp_slice_walk *walk);
// Offset in the long tensor of a row of the short one, a row being its last dim.
static inline int64_t dp_slice_walk_row(const dp_slice_walk *w, int64_t row) {
  int64_t at = w->start;
  for (int d = w->rank - 2; d >= 0; d--) {
    at += row % w->extents[d] * w->steps[d];
    row /= w->extents[d];
  }
  return at;
}

#endif
