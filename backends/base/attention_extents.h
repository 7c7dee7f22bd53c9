// The extents of one device's part of dp.ScaledDotProductAttention and of its gradient, for all their kernels.
#ifndef DP_BACKENDS_BASE_ATTENTION_EXTENTS_H
#define DP_BACKENDS_BASE_ATTENTION_EXTENTS_H

#include "ir/kernel/kernel.h"

enum { DP_ATTENTION_Q, DP_ATTENTION_K, DP_ATTENTION_V, DP_ATTENTION_PARTS };  // what attention takes, in order

typedef struct {
  int64_t batch, length, heads, size, keys, groups, v_size;
  int64_t each;            // heads of a group
  double scale, masked;    // masked: S where a bool mask is false
  bool zero_rows;          // a row that is masked everywhere gives 0 instead of NaN
  bool zero_nan;           // and so does one that has NaN
  bool causal;             // a query sees the keys up to its own place in the whole sequence
  int64_t first;           // the place of the first query
  dp_dtype mask;           // DP_NO_TYPE: none
  int64_t mask_stride[4];  // elements, of batch, heads, length, keys; 0 where the mask is broadcast
  double ratio;            // of dropout; 0: none
  // Elements from a row [heads, size] of Q, K, V to the next (dp_kernel_spec.pitches); the same of their gradients, if
  // the operator makes these.
  int64_t rows[DP_ATTENTION_PARTS], gradient_rows[DP_ATTENTION_PARTS];
  dp_local scores;  // [batch, heads, length, keys]
} dp_attention;

// Operands Q, K, V from `first` on; `mask`: the mask's place.
dp_attention dp_attention_of(const dp_kernel_spec *spec, int first, int mask);

// How many keys, from the first on, a row of the scores may see.
static inline int64_t dp_attention_seen(const dp_attention *a, int64_t row) {
  return a->causal && a->first + row + 1 < a->keys ? a->first + row + 1 : a->keys;
}

// Element offsets of a row or of a head's first row.
static inline int64_t dp_attention_query(const dp_attention *a, int64_t batch, int64_t head, int64_t row,
                                         int64_t size) {
  return ((batch * a->length + row) * a->heads + head) * size;
}
static inline int64_t dp_attention_key(const dp_attention *a, int64_t batch, int64_t group, int64_t size) {
  return (batch * a->keys * a->groups + group) * size;
}
static inline int64_t dp_attention_mask(const dp_attention *a, int64_t batch, int64_t head, int64_t row) {
  return batch * a->mask_stride[0] + head * a->mask_stride[1] + row * a->mask_stride[2];
}
static inline int64_t dp_attention_score_row(const dp_attention *a, int64_t batch, int64_t head, int64_t row) {
  return (batch * a->heads + head) * a->length + row;
}

#endif
