// dp.MaxPoolGrad(x, dy): adds each window's gradient to its first largest element in row-major order, as in PyTorch.
#ifndef T
#include "backends/cpu/reference/pool.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_window window;
  int64_t lo, hi;
  DP_TRY(dp_pool_begin(&(dp_call){spec, in, out, scratch, part, parts}, &spec->inputs[0].local, &window, &lo, &hi));
  for (int64_t plane = lo; plane < hi; plane++) {
    if (spec->inputs[0].dtype == DP_FLOAT32)
      plane_float(&window, plane, in[0], in[1], out[0]);
    else
      plane_double(&window, plane, in[0], in[1], out[0]);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_dp_MaxPoolGrad = {
    .name = "cpu.reference.dp.MaxPoolGrad",
    .op = "MaxPoolGrad",
    .domain = "dp",
    .parts = true,
    .run = run,
};

#else

// The index in plane x of the first largest element of the box. NaN counts as the largest. -1: the box is empty, which
// the window of a dilated kernel can be.
static int64_t FN(argmax)(const dp_window *w, const dp_pool_box *box, const T *x) {
  if (dp_product(box->count, 0, 3) == 0) return -1;
  int64_t best = dp_pool_index(w, box, 0, 0, 0);
  T most = x[best];
  for (int64_t a = 0; a < box->count[0]; a++)
    for (int64_t b = 0; b < box->count[1]; b++) {
      int64_t at = dp_pool_index(w, box, a, b, 0);
      for (int64_t c = 0; c < box->count[2]; c++, at += w->dilation[2])
        if (x[at] > most || (isnan(x[at]) && !isnan(most))) {
          best = at;
          most = x[at];
        }
    }
  return best;
}

static void FN(plane)(const dp_window *window, int64_t plane, const T *x, const T *dy, T *dx) {
  x += plane * window->x_plane;
  dx += plane * window->x_plane;
  dy += plane * window->y_plane;
  for (int64_t i = 0; i < window->x_plane; i++) dx[i] = 0;
  for (int64_t i = 0; i < window->y_plane; i++) {
    dp_pool_box box = dp_pool_box_of(window, i);
    int64_t at = FN(argmax)(window, &box, x);
    if (at >= 0) dx[at] += dy[i];
  }
}
#undef T
#endif
