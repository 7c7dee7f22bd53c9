// MaxPool: the largest element of each window; padding never wins, NaN does, as in PyTorch. (oneDNN's drops NaN, which would
// hide a diverged loss; so there is no kernel by oneDNN.)
#ifndef T
#include "backends/cpu/reference/pool.h"

#define T float
#define LEAST -INFINITY
#include __FILE__
#define T double
#define LEAST -INFINITY
#include __FILE__
#define T int32_t
#define LEAST INT32_MIN
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
    else if (spec->inputs[0].dtype == DP_FLOAT64)
      pool_double(&window, (const double *)in[0] + plane * window.x_plane, (double *)out[0] + plane * window.y_plane);
    else
      pool_int32_t(&window, (const int32_t *)in[0] + plane * window.x_plane,
                   (int32_t *)out[0] + plane * window.y_plane);
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

// y[i] = the larger of y[i] and x[i * step]; a NaN counts as the largest and stays.
static void FN(take_larger)(T *y, const T *x, int64_t step, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    T value = x[i * step];
    y[i] = value > y[i] || isnan((double)value) ? value : y[i];
  }
}

static void FN(pool)(const dp_window *window, const T *x, T *y) {
  for (int64_t i = 0; i < window->y_plane; i++) y[i] = (T)LEAST;
  for (int64_t tap = 0; tap < window->kernel_plane; tap++) {
    dp_window_runs r = dp_window_runs_of(window, tap);
    while (dp_window_next(&r)) FN(take_larger)(y + r.y, x + r.x, window->stride[2], r.count);
  }
}
#undef T
#undef LEAST
#endif
