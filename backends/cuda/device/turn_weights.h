// Arguments of turn_weights.cu.
#ifndef DP_BACKENDS_CUDA_DEVICE_TURN_WEIGHTS_H
#define DP_BACKENDS_CUDA_DEVICE_TURN_WEIGHTS_H

#include "backends/cuda/device/prelude.h"

// turned (columns, rows, taps) = w (rows, columns, taps), the taps in reverse order.
typedef struct {
  const void *w;
  void *turned;
  long long rows, columns, taps;
} dp_turn_weights_arguments;

#endif
