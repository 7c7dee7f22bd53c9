// How the taps of windows connect elements of x and y: backends/base/window.h.
#ifndef DP_BACKENDS_CPU_REFERENCE_WINDOW_H
#define DP_BACKENDS_CPU_REFERENCE_WINDOW_H

#include "backends/base/window.h"
#include "backends/cpu/reference/reference.h"

// The windows along dim d whose tap t is inside x: [*lo, *hi).
static inline void dp_window_range(const dp_window *window, int d, int64_t t, int64_t *lo, int64_t *hi) {
  int64_t stride = window->stride[d], shift = window->pad[d] - t * window->dilation[d];  // x index: o * stride - shift
  int64_t last = window->x[d] - 1 + shift;
  *lo = shift > 0 ? (shift + stride - 1) / stride : 0;
  *hi = last < 0 ? 0 : dp_min_i64(last / stride + 1, window->y[d]);
}

// The index in x of tap t of window o along dim d.
static inline int64_t dp_window_at(const dp_window *window, int d, int64_t o, int64_t t) {
  return o * window->stride[d] - window->pad[d] + t * window->dilation[d];
}

// All pairs of x and y elements that one tap of the kernel connects, as runs along the last dim in the order of y.
typedef struct {
  const dp_window *window;
  int64_t tap[3], lo[3], hi[3];
  int64_t at[2];        // the next run's windows along dims 0 and 1
  int64_t x, y, count;  // the run: elements x + i * stride[2] and y + i of their planes, i < count
} dp_window_runs;

// tap: its row-major index in the kernel.
static inline dp_window_runs dp_window_runs_of(const dp_window *window, int64_t tap) {
  dp_window_runs r = {.window = window};
  for (int d = 2; d >= 0; d--) {
    r.tap[d] = tap % window->kernel[d];
    tap /= window->kernel[d];
    dp_window_range(window, d, r.tap[d], &r.lo[d], &r.hi[d]);
  }
  r.at[0] = r.lo[0];
  r.at[1] = r.lo[1];
  r.count = r.lo[1] < r.hi[1] ? r.hi[2] - r.lo[2] : 0;
  return r;
}

// Sets x and y to the next run; false after the last.
static inline bool dp_window_next(dp_window_runs *r) {
  const dp_window *w = r->window;
  if (r->count <= 0 || r->at[0] >= r->hi[0]) return false;
  int64_t row = dp_window_at(w, 0, r->at[0], r->tap[0]) * w->x[1] + dp_window_at(w, 1, r->at[1], r->tap[1]);
  r->x = row * w->x[2] + dp_window_at(w, 2, r->lo[2], r->tap[2]);
  r->y = (r->at[0] * w->y[1] + r->at[1]) * w->y[2] + r->lo[2];
  if (++r->at[1] == r->hi[1]) {
    r->at[1] = r->lo[1];
    r->at[0]++;
  }
  return true;
}

#endif
