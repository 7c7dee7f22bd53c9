// Pads elements of type T, an unsigned integer, in RANK dims, at least one. MODE is that of ir/ops/pad.h: 0 the
// constant, 1 the edge, 2 reflected, 3 wrapped. INDEX is an unsigned type that holds the count.
//
// A thread has WIDTH neighbours of the result: it divides once and counts on from there.
#include "backends/cuda/device/pad.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)

// The position along a dim of `extent` elements that position i of the result shows; -1: the constant.
DP_DEVICE dp_i64 LOCAL(from)(dp_i64 i, dp_i64 begin, dp_i64 extent) {
  dp_i64 from = i - begin;
  const dp_i64 turn = 2 * (extent - 1);
  if (from >= 0 && from < extent) return from;
  if (MODE == 1) return from < 0 ? 0 : extent - 1;
  if (MODE == 3) return (from % extent + extent) % extent;
  if (MODE != 2) return -1;
  if (!turn) return 0;
  from = (from % turn + turn) % turn;
  return from < extent ? from : turn - from;
}

// Where the row of x begins, along the last dim, that row `row` of the result shows; -1: it has the constant alone.
DP_DEVICE dp_i64 LOCAL(row)(const dp_pad_arguments *a, INDEX row) {
  dp_i64 at = 0, stride = a->x_extents[RANK - 1];
  DP_UNROLL
  for (int d = RANK - 2; d >= 0; d--) {
    const INDEX before = d ? row / (INDEX)a->y_extents[d] : 0;
    const dp_i64 from = LOCAL(from)((dp_i64)(row - before * (INDEX)a->y_extents[d]), a->begin[d], a->x_extents[d]);
    if (from < 0) return -1;
    at += from * stride;
    row = before;
    stride *= a->x_extents[d];
  }
  return at;
}

DP_KERNEL(dp_pad_arguments) {
  const INDEX extent = (INDEX)a.y_extents[RANK - 1];
  for (dp_i64 i = dp_index() * WIDTH; i < a.count; i += dp_stride() * WIDTH) {
    const int mine = i + WIDTH <= a.count ? WIDTH : (int)(a.count - i);
    INDEX row = (INDEX)i / extent, column = (INDEX)i - row * extent;
    dp_i64 begin = LOCAL(row)(&a, row);
    LOCAL(vector) v;
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) {
      const dp_i64 from = LOCAL(from)((dp_i64)column, a.begin[RANK - 1], a.x_extents[RANK - 1]);
      v.e[l] = begin < 0 || from < 0 || l >= mine ? (T)a.constant : ((const T *)a.x)[begin + from];
      if (++column == extent) {
        column = 0;
        begin = LOCAL(row)(&a, ++row);
      }
    }
    if (mine == WIDTH) {
      LOCAL(store)((T *)a.y + i, v, a.aligned);
    } else {
      DP_UNROLL
      for (int l = 0; l < WIDTH; l++)
        if (l < mine) ((T *)a.y)[i + l] = v.e[l];
    }
  }
}
