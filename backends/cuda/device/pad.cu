// Pads elements of type T, an unsigned integer. The modes are those of ir/ops/pad.h: the constant, the edge, reflected,
// wrapped. INDEX is an unsigned type that holds the count.
#include "backends/cuda/device/pad.h"

// The position along a dim of `extent` elements that position i of the result shows; -1: the constant.
DP_DEVICE dp_i64 LOCAL(from)(dp_i64 mode, dp_i64 i, dp_i64 begin, dp_i64 extent) {
  dp_i64 from = i - begin;
  const dp_i64 turn = 2 * (extent - 1);
  if (from >= 0 && from < extent) return from;
  if (mode == 1) return from < 0 ? 0 : extent - 1;
  if (mode == 3) return (from % extent + extent) % extent;
  if (mode != 2) return -1;
  if (!turn) return 0;
  from = (from % turn + turn) % turn;
  return from < extent ? from : turn - from;
}

DP_KERNEL(dp_pad_arguments) {
  for (dp_i64 i = dp_index(); i < a.count; i += dp_stride()) {
    INDEX rest = (INDEX)i;
    dp_i64 at = 0, stride = 1;
    for (int d = (int)a.rank - 1; d >= 0 && at >= 0; d--) {
      const INDEX before = rest / (INDEX)a.y_extents[d];
      const dp_i64 y = (dp_i64)(rest - before * (INDEX)a.y_extents[d]);
      const dp_i64 from = LOCAL(from)(a.mode, y, a.begin[d], a.x_extents[d]);
      at = from < 0 ? -1 : at + from * stride;
      rest = before;
      stride *= a.x_extents[d];
    }
    ((T *)a.y)[i] = at < 0 ? (T)a.constant : ((const T *)a.x)[at];
  }
}
