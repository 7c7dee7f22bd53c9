// Copies rows of type T into rows of another pitch, a part of a row for each block.
#include "backends/cuda/device/head_loss.h"
#include "backends/cuda/device/prelude.h"
#include "backends/cuda/device/vectors.h"

DP_KERNEL(dp_pitch_arguments) {
  const dp_i64 row = dp_block() / a.parts;
  const dp_i64 from = dp_block() % a.parts * (DP_PITCH_EACH * DP_PITCH_THREADS) + dp_thread();
  const T *x = (const T *)a.x + row * a.from_pitch;
  T *y = (T *)a.y + row * a.wide;
  T held[DP_PITCH_EACH];
  DP_UNROLL
  for (int k = 0; k < DP_PITCH_EACH; k++) {
    const dp_i64 c = from + k * DP_PITCH_THREADS;
    held[k] = c < a.columns ? x[c] : 0;
  }
  DP_UNROLL
  for (int k = 0; k < DP_PITCH_EACH; k++) {
    const dp_i64 c = from + k * DP_PITCH_THREADS;
    if (c < a.wide) y[c] = held[k];
  }
}
