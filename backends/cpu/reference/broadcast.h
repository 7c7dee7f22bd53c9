// Iterates over operands that broadcast to result 0, row by row. A row is the result's last dim.
#ifndef DP_BACKENDS_CPU_REFERENCE_BROADCAST_H
#define DP_BACKENDS_CPU_REFERENCE_BROADCAST_H

#include "backends/cpu/reference/reference.h"

typedef struct {
  int rank;  // at least 1
  int64_t extents[DP_MAX_RANK];
  int64_t strides[DP_MAX_OPERANDS][DP_MAX_RANK];  // elements; 0 where the operand is broadcast
} dp_broadcast;

static inline dp_broadcast dp_broadcast_make(const dp_kernel_spec *spec) {
  const dp_local *y = &spec->outputs[0].local;
  dp_broadcast w = {.rank = y->rank ? y->rank : 1, .extents = {1}};
  for (int d = 0; d < y->rank; d++) w.extents[d] = y->extents[d];
  for (int i = 0; i < spec->n_inputs; i++) {
    const dp_local *x = &spec->inputs[i].local;
    int64_t stride = 1;
    for (int d = x->rank - 1; d >= 0 && spec->inputs[i].present; d--) {
      w.strides[i][d + y->rank - x->rank] = x->extents[d] == 1 ? 0 : stride;
      stride *= x->extents[d];
    }
  }
  return w;
}

// The element offset of the row in operand i.
static inline int64_t dp_broadcast_row(const dp_broadcast *w, int i, int64_t row) {
  int64_t at = 0;
  for (int d = w->rank - 2; d >= 0; d--) {
    at += row % w->extents[d] * w->strides[i][d];
    row /= w->extents[d];
  }
  return at;
}

#endif
