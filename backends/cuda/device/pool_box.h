// The taps of a pooling window that are inside x, for functions of the device. See pool.h.
#ifndef DP_BACKENDS_CUDA_DEVICE_POOL_BOX_H
#define DP_BACKENDS_CUDA_DEVICE_POOL_BOX_H

#include "backends/cuda/device/pool.h"
#include "backends/cuda/device/prelude.h"
#include "backends/cuda/device/vectors.h"

// Number d of a list; the compiler knows d where loops over dims are unrolled.
#define DP_POOL_LIST(NAME_OF, ...)     \
  DP_DEVICE I NAME_OF(int d) {         \
    const I numbers[] = {__VA_ARGS__}; \
    return numbers[d];                 \
  }
DP_POOL_LIST(dp_pool_x, EXTENTS)
DP_POOL_LIST(dp_pool_y, WINDOWS)
DP_POOL_LIST(dp_pool_kernel, KERNEL)
DP_POOL_LIST(dp_pool_stride, STRIDE)
DP_POOL_LIST(dp_pool_dilation, DILATION)
DP_POOL_LIST(dp_pool_pad, PAD)
DP_POOL_LIST(dp_pool_pad_end, PAD_END)

DP_DEVICE I dp_pool_x_plane(void) { return dp_pool_x(0) * dp_pool_x(1) * dp_pool_x(2); }
DP_DEVICE I dp_pool_y_plane(void) { return dp_pool_y(0) * dp_pool_y(1) * dp_pool_y(2); }

// The index of an element in a plane of x, or of y.
DP_DEVICE I dp_pool_x_at(I a, I b, I c) { return (a * dp_pool_x(1) + b) * dp_pool_x(2) + c; }
DP_DEVICE I dp_pool_y_at(I a, I b, I c) { return (a * dp_pool_y(1) + b) * dp_pool_y(2) + c; }

// For each dim the first tap's place in x, and the number of taps.
typedef struct {
  I at[3], count[3];
} dp_pool_box;

// Whether no window has a tap before x, or beyond `more` elements behind it. The compiler knows it.
DP_DEVICE bool dp_pool_is_inside(int d, I before, I more) {
  const I last =
      (dp_pool_y(d) - 1) * dp_pool_stride(d) - dp_pool_pad(d) + (dp_pool_kernel(d) - 1) * dp_pool_dilation(d);
  return dp_pool_pad(d) <= before && last < dp_pool_x(d) + more;
}

DP_DEVICE dp_pool_box dp_pool_box_of(const I *o) {
  dp_pool_box box;
  DP_UNROLL
  for (int d = 0; d < 3; d++) {
    box.at[d] = o[d] * dp_pool_stride(d) - dp_pool_pad(d);
    box.count[d] = dp_pool_kernel(d);
    if (dp_pool_is_inside(d, 0, 0)) continue;
    const I dilation = dp_pool_dilation(d), begin = o[d] * dp_pool_stride(d) - dp_pool_pad(d);
    const I room = dp_pool_x(d) - begin, first = begin < 0 ? (dilation - 1 - begin) / dilation : 0;
    I end = room > 0 ? (room + dilation - 1) / dilation : 0;  // taps t with t * dilation < room
    if (end > dp_pool_kernel(d)) end = dp_pool_kernel(d);
    box.at[d] = begin + first * dilation;
    box.count[d] = end > first ? end - first : 0;
  }
  return box;
}

DP_DEVICE double dp_pool_taps(const dp_pool_box *box) {
  return (double)box->count[0] * (double)box->count[1] * (double)box->count[2];
}

// Goes through the box in row-major order: `tap` is a tap's index in x's plane.
#define DP_POOL_EACH_TAP(box, tap)                                                                \
  for (I dp_a = 0; dp_a < (box).count[0]; dp_a++)                                                 \
    for (I dp_b = 0; dp_b < (box).count[1]; dp_b++)                                               \
      for (I dp_c = 0, tap = dp_pool_x_at((box).at[0] + dp_a * dp_pool_dilation(0),               \
                                          (box).at[1] + dp_b * dp_pool_dilation(1), (box).at[2]); \
           dp_c < (box).count[2]; dp_c++, tap += dp_pool_dilation(2))

// Of maxima: NaN is the largest.
#define DP_POOL_LARGER(value, than) ((value) > (than) || (IS_NAN(value) && !IS_NAN(than)))

// Takes the place in memory of an element of x, or of y, apart: the place in its plane; returns the number of the
// plane.
#define DP_POOL_PLACE(NAME_OF, EXTENT)                                              \
  DP_DEVICE dp_i64 NAME_OF(dp_i64 i, I *at) {                                       \
    const dp_i64 elements = (dp_i64)EXTENT(0) * EXTENT(1) * EXTENT(2) * NEIGHBOURS; \
    const dp_i64 group = elements ? i / elements : 0;                               \
    I left = (I)((i - group * elements) / NEIGHBOURS);                              \
    DP_UNROLL                                                                       \
    for (int d = 2; d >= 0; d--) {                                                  \
      at[d] = EXTENT(d) ? left % EXTENT(d) : 0;                                     \
      left = EXTENT(d) ? left / EXTENT(d) : 0;                                      \
    }                                                                               \
    return group * NEIGHBOURS + i % NEIGHBOURS;                                     \
  }
DP_POOL_PLACE(dp_pool_place_in_x, dp_pool_x)
DP_POOL_PLACE(dp_pool_place_in_y, dp_pool_y)

// Where a plane of x, or of y, begins; its elements are NEIGHBOURS apart.
DP_DEVICE dp_i64 dp_pool_x_begin(dp_i64 plane) {
  return plane / NEIGHBOURS * NEIGHBOURS * dp_pool_x_plane() + plane % NEIGHBOURS;
}
DP_DEVICE dp_i64 dp_pool_y_begin(dp_i64 plane) {
  return plane / NEIGHBOURS * NEIGHBOURS * dp_pool_y_plane() + plane % NEIGHBOURS;
}

// The window along dim d of which element `at` is tap number t; -1: there is none. The later a tap, the earlier the
// window.
DP_DEVICE I dp_pool_window(int d, I at, I t) {
  const I begin = at + dp_pool_pad(d) - t * dp_pool_dilation(d), o = begin / dp_pool_stride(d);
  return begin >= 0 && o * dp_pool_stride(d) == begin && o < dp_pool_y(d) ? o : -1;
}

#endif
