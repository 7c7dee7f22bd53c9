// The taps of a pooling window that are inside x, for functions of the device.
#ifndef DP_BACKENDS_CUDA_DEVICE_POOL_BOX_H
#define DP_BACKENDS_CUDA_DEVICE_POOL_BOX_H

#include "backends/cuda/device/pool.h"
#include "backends/cuda/device/prelude.h"

// For each dim the first tap's place in x, and the number of taps.
typedef struct {
  dp_i64 at[3], count[3];
} dp_pool_box;

DP_DEVICE dp_pool_box dp_pool_box_of(const dp_device_window *w, const dp_i64 *o) {
  dp_pool_box box;
  for (int d = 0; d < 3; d++) {
    const dp_i64 begin = o[d] * w->stride[d] - w->pad[d], dilation = w->dilation[d], room = w->x[d] - begin;
    const dp_i64 first = begin < 0 ? (dilation - 1 - begin) / dilation : 0;
    dp_i64 end = room > 0 ? (room + dilation - 1) / dilation : 0;  // taps t with t * dilation < room
    if (end > w->kernel[d]) end = w->kernel[d];
    box.at[d] = begin + first * dilation;
    box.count[d] = end > first ? end - first : 0;
  }
  return box;
}

// The index in x's plane of tap `i` of the box, in row-major order.
DP_DEVICE dp_i64 dp_pool_tap(const dp_device_window *w, const dp_pool_box *box, dp_i64 i) {
  const dp_i64 c = i % box->count[2], b = i / box->count[2] % box->count[1], a = i / box->count[2] / box->count[1];
  return ((box->at[0] + a * w->dilation[0]) * w->x[1] + box->at[1] + b * w->dilation[1]) * w->x[2] + box->at[2] +
         c * w->dilation[2];
}

DP_DEVICE dp_i64 dp_pool_taps(const dp_pool_box *box) { return box->count[0] * box->count[1] * box->count[2]; }

// The index in y's plane of window o.
DP_DEVICE dp_i64 dp_pool_window(const dp_device_window *w, const dp_i64 *o) {
  return (o[0] * w->y[1] + o[1]) * w->y[2] + o[2];
}

// Takes an index of a tensor apart: the place in its plane, whose extents are given; returns the number of the plane.
DP_DEVICE dp_i64 dp_pool_place(const long long *extents, dp_i64 i, dp_i64 *at) {
  for (int d = 2; d >= 0; d--) {
    at[d] = i % extents[d];
    i /= extents[d];
  }
  return i;
}

// The windows along dim d that may cover element `at` of x: the first, and one past the last.
DP_DEVICE void dp_pool_windows(const dp_device_window *w, int d, dp_i64 at, dp_i64 *first, dp_i64 *end) {
  const dp_i64 reach = (w->kernel[d] - 1) * w->dilation[d], to = at + w->pad[d], from = to - reach;
  *first = from > 0 ? (from + w->stride[d] - 1) / w->stride[d] : 0;
  *end = to / w->stride[d] + 1;
  if (*end > w->y[d]) *end = w->y[d];
}

// Whether one of window o's taps is element `at` of x.
DP_DEVICE int dp_pool_covers(const dp_device_window *w, const dp_i64 *o, const dp_i64 *at) {
  for (int d = 0; d < 3; d++) {
    const dp_i64 distance = at[d] - (o[d] * w->stride[d] - w->pad[d]);
    if (distance < 0 || distance % w->dilation[d] || distance / w->dilation[d] >= w->kernel[d]) return 0;
  }
  return 1;
}

#endif
