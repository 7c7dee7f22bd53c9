// Conv: y[n, m] = bias[m] + the sum over the group's channels c and kernel taps t of w[m, c, t] * x[n, c, window + t].
#ifndef T
#include "backends/cpu/reference/conv.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_local *y = &spec->outputs[0].local;
  return (uint64_t)spec->threads * (uint64_t)dp_product(y->extents, 2, y->rank) * sizeof(double);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_conv conv;
  DP_TRY(dp_conv_make(spec, &spec->inputs[0].local, &spec->inputs[1].local, &conv));
  double *sums = (double *)scratch + part * conv.window.y_plane;
  const void *bias = dp_has_in(spec, 2) ? in[2] : NULL;
  int64_t lo, hi;
  dp_part_range(conv.samples * conv.y_channels, part, parts, &lo, &hi);
  for (int64_t plane = lo; plane < hi; plane++) {
    if (spec->inputs[0].dtype == DP_FLOAT32)
      plane_float(&conv, plane, in[0], in[1], bias, sums, out[0]);
    else
      plane_double(&conv, plane, in[0], in[1], bias, sums, out[0]);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Conv = {
    .name = "cpu.reference.Conv",
    .op = "Conv",
    .domain = "",
    .scratch_bytes = scratch_bytes,
    .parts = true,
    .run = run,
};

#else

// sums[i] += factor * x[i * step].
static void FN(add)(double *sums, double factor, const T *x, int64_t step, int64_t count) {
  if (step == 1)
    for (int64_t i = 0; i < count; i++) sums[i] += factor * (double)x[i];
  else
    for (int64_t i = 0; i < count; i++) sums[i] += factor * (double)x[i * step];
}

// Plane n * y_channels + m of y.
static void FN(plane)(const dp_conv *conv, int64_t plane, const T *x, const T *w, const T *bias, double *sums, T *y) {
  const dp_window *window = &conv->window;
  int64_t n = plane / conv->y_channels, m = plane % conv->y_channels, taps = window->kernel_plane;
  for (int64_t i = 0; i < window->y_plane; i++) sums[i] = bias ? (double)bias[m] : 0;
  for (int64_t c = 0; c < conv->x_group; c++) {
    int64_t channel = m / conv->y_group * conv->x_group + c;
    const T *from = x + (n * conv->x_channels + channel) * window->x_plane,
            *weights = w + (m * conv->x_group + c) * taps;
    for (int64_t tap = 0; tap < taps; tap++) {
      dp_window_runs r = dp_window_runs_of(window, tap);
      while (dp_window_next(&r)) FN(add)(sums + r.y, (double)weights[tap], from + r.x, window->stride[2], r.count);
    }
  }
  for (int64_t i = 0; i < window->y_plane; i++) y[plane * window->y_plane + i] = (T)sums[i];
}
#undef T
#endif
