// Walks the columns of scores (samples, classes, inner), a few neighbouring ones at a time, for the functions of
// backends/cpu/vector/cross_entropy.h.
#ifndef DP_BACKENDS_CPU_FAST_CROSS_ENTROPY_H
#define DP_BACKENDS_CPU_FAST_CROSS_ENTROPY_H

#include "backends/cpu/reference/cross_entropy.h"
#include "backends/cpu/vector/cross_entropy.h"

typedef struct {
  int64_t label, end;  // the first label of these columns, the end of all
  int64_t first;       // offset of the first column's first score
  int width;
} dp_fast_columns;

// Before the columns of the samples [lo, hi).
static inline dp_fast_columns dp_fast_columns_of(const dp_cross_entropy *l, int64_t lo, int64_t hi) {
  return (dp_fast_columns){.label = lo * l->inner, .end = hi * l->inner};
}

// Advances to the next columns, all of one sample; false after the last.
static inline bool dp_fast_columns_next(const dp_cross_entropy *l, dp_fast_columns *at) {
  at->label += at->width;
  if (at->label >= at->end || !l->classes) return false;
  const int64_t column = at->label % l->inner;
  at->width = (int)dp_min_i64(DP_VECTOR_COLUMNS, l->inner - column);
  at->first = (at->label - column) * l->classes + column;
  return true;
}

// At load: *state is the dp_vector_cross_entropy for the instruction set that this process computes by.
dp_status dp_fast_cross_entropy_prepare(const dp_kernel_spec *spec, void **state) DP_MUST_USE;

#endif
