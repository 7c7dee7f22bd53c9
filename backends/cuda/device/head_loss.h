// The loss of the scores that a network's head makes, and its gradient in their place.
#ifndef DP_BACKENDS_CUDA_DEVICE_HEAD_LOSS_H
#define DP_BACKENDS_CUDA_DEVICE_HEAD_LOSS_H

#include "backends/cuda/device/cross_entropy.h"

// VECTOR: bytes that a thread takes at once; rows begin at multiples of it. THREADS: of a block, at most. HELD: vectors
// that a thread has registers for, at most. ROWS: of a block, at most.
enum { DP_HEAD_LOSS_VECTOR = 16, DP_HEAD_LOSS_THREADS = 1024, DP_HEAD_LOSS_HELD = 8, DP_HEAD_LOSS_ROWS = 8 };

typedef struct {
  dp_cross_entropy_arguments loss;  // of all rows, but for `scores`, which are those of this launch; dloss may be NULL
  long long pitch;                  // elements from one row of scores to the next
  long long first;                  // the label of the launch's first row
  long long rows, each;             // of the launch, of a block
} dp_head_loss_arguments;

// Rows of `columns` elements copied into rows of `wide` elements, of which those that are more become 0.
typedef struct {
  long long columns, wide, from_pitch;
  long long parts;  // blocks of a row
  const void *x;
  void *y;
} dp_pitch_arguments;
enum { DP_PITCH_EACH = 8, DP_PITCH_THREADS = 256 };

#endif
