// MaxPool: the largest element of each window; padding never wins.
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
      pool_float(&window, (const float *)in[0] + plane * window.x_plane, (float *)out[0] + plane * window.y_plane);
    else
      pool_double(&window, (const double *)in[0] + plane * window.x_plane, (double *)out[0] + plane * window.y_plane);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_MaxPool = {
    .name = "cpu.reference.MaxPool",
    .op = "MaxPool",
    .domain = "",
    .parts = true,
    .run = run,
};

#else

static void FN(pool)(const dp_window *window, const T *x, T *y) {
  for (int64_t i = 0; i < window->y_plane; i++) {
    dp_pool_box box = dp_pool_box_of(window, i);
    int64_t at = FN(dp_pool_argmax)(window, &box, x);
    y[i] = at < 0 ? (T)-INFINITY : x[at];
  }
}
#undef T
#endif
