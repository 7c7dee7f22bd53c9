// Rows of contiguous elements whose exponentials are summed, and that a warp or a block keeps in registers: softmax,
// the cross entropy and its gradient, the logarithm of the sum.
#ifndef DP_BACKENDS_CUDA_DEVICE_EXPONENTIAL_ROWS_H
#define DP_BACKENDS_CUDA_DEVICE_EXPONENTIAL_ROWS_H

#include "backends/cuda/device/cross_entropy.h"

typedef struct {
  long long rows, length;
  long long aligned;  // whether x and what is written can be moved by vectors, but for rows' ends
  const void *x;
  void *y;
  dp_cross_entropy_arguments loss;  // of the cross entropy: a row is a label's scores
} dp_exponential_rows_arguments;

// What is made of a row: its length of results, or one.
enum { DP_ROWS_SOFTMAX, DP_ROWS_LOG_SOFTMAX, DP_ROWS_LOG_SUM, DP_ROWS_LOSS, DP_ROWS_LOSS_GRADIENT };

// Threads of a row, and vectors that a thread keeps in registers.
enum { DP_ROWS_MOST_THREADS = 512, DP_ROWS_MOST_HELD = 16 };

#endif
