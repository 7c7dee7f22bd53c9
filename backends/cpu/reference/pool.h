// What the pooling kernels share: single windows and their taps inside the operand.
#ifndef DP_BACKENDS_CPU_REFERENCE_POOL_H
#define DP_BACKENDS_CPU_REFERENCE_POOL_H

#include "backends/cpu/reference/window.h"

// The taps of one window that are inside x: for each dim the first tap, the number of taps, and the first tap's index
// in x.
typedef struct {
  int64_t at[3], count[3];
} dp_pool_box;

// The box of window `index` (row-major in the result's plane).
static inline dp_pool_box dp_pool_box_of(const dp_window *w, int64_t index) {
  dp_pool_box box;
  for (int d = 2; d >= 0; d--) {
    int64_t begin = index % w->y[d] * w->stride[d] - w->pad[d], dilation = w->dilation[d];
    index /= w->y[d];
    int64_t first = begin < 0 ? (-begin + dilation - 1) / dilation : 0;
    int64_t room = w->x[d] - begin;  // taps t with t * dilation < room
    int64_t end = room > 0 ? dp_min_i64((room + dilation - 1) / dilation, w->kernel[d]) : 0;
    box.at[d] = begin + first * dilation;
    box.count[d] = dp_max_i64(end - first, 0);
  }
  return box;
}

// The index in x's plane of element (a, b, c) of the box.
static inline int64_t dp_pool_index(const dp_window *w, const dp_pool_box *box, int64_t a, int64_t b, int64_t c) {
  return ((box->at[0] + a * w->dilation[0]) * w->x[1] + box->at[1] + b * w->dilation[1]) * w->x[2] + box->at[2] +
         c * w->dilation[2];
}

// What a call of a pooling kernel works on: the window, and the planes [*lo, *hi) of its part.
dp_status dp_pool_begin(const dp_call *call, const dp_local *x, dp_window *window, int64_t *lo, int64_t *hi);

#endif
