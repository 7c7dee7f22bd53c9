// dp.ScaledDotProductAttention and its gradient: ir/ops/scaled_dot_product.h has the layouts.
#ifndef DP_BACKENDS_CUDA_DEVICE_ATTENTION_H
#define DP_BACKENDS_CUDA_DEVICE_ATTENTION_H

#include "backends/cuda/device/random.h"
#include "backends/cuda/device/tile_product.h"

typedef struct {
  long long batch, length, heads, size, keys, groups, v_size, each;  // each: heads of a group
  double scale, masked, ratio;                                       // masked: S where a bool mask is false
  int zero_rows, zero_nan;   // a row that is masked everywhere gives 0 instead of NaN, and so does one that has NaN
  long long first;           // the place of the first query in the whole sequence
  long long mask_stride[4];  // elements, of batch, heads, length, keys; 0 where the mask is broadcast
  dp_draw draw;              // of dropout; its place is that of the scores [batch, heads, length, keys]
  long long q_row, k_row, v_row;     // elements from a row [heads, size] of Q, K, V to the next
  long long dq_row, dk_row, dv_row;  // the same of their gradients
  const void *q, *k, *v, *mask;
  void *y, *lse;  // lse may be NULL
  // Of the gradient. through: scratch, of each row the sum of dy * y.
  const void *dy, *given_y, *given_lse;
  double *through;
  void *dq, *dk, *dv, *dmask;  // dmask may be NULL
} dp_attention_arguments;

// The tiles of so many rows of scores.
DP_DEVICE dp_i64 dp_attention_tiles(dp_i64 length) { return (length + DP_TILE_SIDE - 1) / DP_TILE_SIDE; }

#endif
