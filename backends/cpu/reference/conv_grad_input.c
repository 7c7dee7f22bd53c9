// dp.ConvGradInput(w, dy): dx[n, c, window + t] is the sum over the group's m and the taps t of w[m, c, t] * dy[n, m, window].
#ifndef T
#include "backends/cpu/reference/conv.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_local *x = &spec->outputs[0].local;
  return (uint64_t)spec->threads * (uint64_t)dp_product(x->extents, 2, x->rank) * sizeof(double);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_conv conv;
  DP_TRY(dp_conv_make(spec, &spec->outputs[0].local, &spec->inputs[0].local, &conv));
  double *sums = (double *)scratch + part * conv.window.x_plane;
  int64_t lo, hi;
  dp_part_range(conv.samples * conv.x_channels, part, parts, &lo, &hi);
  for (int64_t plane = lo; plane < hi; plane++) {
    if (spec->inputs[0].dtype == DP_FLOAT32)
      plane_float(&conv, plane, in[0], in[1], sums, out[0]);
    else
      plane_double(&conv, plane, in[0], in[1], sums, out[0]);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_dp_ConvGradInput = {
    .name = "cpu.reference.dp.ConvGradInput",
    .op = "ConvGradInput",
    .domain = "dp",
    .scratch_bytes = scratch_bytes,
    .parts = true,
    .run = run,
};

#else

// sums[i * step] += factor * dy[i].
static void FN(scatter)(double *sums, double factor, const T *dy, int64_t step, int64_t count) {
  if (step == 1)
    for (int64_t i = 0; i < count; i++) sums[i] += factor * (double)dy[i];
  else
    for (int64_t i = 0; i < count; i++) sums[i * step] += factor * (double)dy[i];
}

// Plane n * x_channels + channel of dx.
static void FN(plane)(const dp_conv *conv, int64_t plane, const T *w, const T *dy, double *sums, T *dx) {
  const dp_window *window = &conv->window;
  int64_t n = plane / conv->x_channels, channel = plane % conv->x_channels, taps = window->kernel_plane;
  for (int64_t i = 0; i < window->x_plane; i++) sums[i] = 0;
  for (int64_t i = 0; conv->x_group && i < conv->y_group; i++) {
    int64_t m = channel / conv->x_group * conv->y_group + i, c = channel % conv->x_group;
    const T *from = dy + (n * conv->y_channels + m) * window->y_plane, *weights = w + (m * conv->x_group + c) * taps;
    for (int64_t tap = 0; tap < taps; tap++) {
      dp_window_runs r = dp_window_runs_of(window, tap);
      while (dp_window_next(&r)) FN(scatter)(sums + r.x, (double)weights[tap], from + r.y, window->stride[2], r.count);
    }
  }
  for (int64_t i = 0; i < window->x_plane; i++) dx[plane * window->x_plane + i] = (T)sums[i];
}
#undef T
#endif
