// Weights of type T as the gradient of a convolution's operand takes them, which is a convolution of dy.
#include "backends/cuda/device/turn_weights.h"

DP_KERNEL(dp_turn_weights_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.rows * a.columns * a.taps) return;
  const dp_i64 tap = i % a.taps, row = i / a.taps % a.rows, column = i / a.taps / a.rows;
  ((T *)a.turned)[i] = ((const T *)a.w)[(row * a.columns + column) * a.taps + a.taps - 1 - tap];
}
