// dp.ConvGradWeight(x, dy): dw[m, c, t] is the sum over samples n and windows of dy[n, m, window] * x[n, c, window + t].
#ifndef T
#include "backends/cpu/reference/conv.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

// One row of windows.
static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_local *dy = &spec->inputs[1].local;
  return (uint64_t)spec->threads * (uint64_t)dy->extents[dy->rank - 1] * sizeof(double);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_conv conv;
  DP_TRY(dp_conv_make(spec, &spec->inputs[0].local, &spec->outputs[0].local, &conv));
  double *sums = (double *)scratch + part * conv.window.y[2];
  int64_t lo, hi;
  dp_part_range(conv.y_channels * conv.x_group, part, parts, &lo, &hi);
  for (int64_t plane = lo; plane < hi; plane++) {
    if (spec->inputs[0].dtype == DP_FLOAT32)
      plane_float(&conv, plane, in[0], in[1], sums, out[0]);
    else
      plane_double(&conv, plane, in[0], in[1], sums, out[0]);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_dp_ConvGradWeight = {
    .name = "cpu.reference.dp.ConvGradWeight",
    .op = "ConvGradWeight",
    .domain = "dp",
    .scratch_bytes = scratch_bytes,
    .parts = true,
    .run = run,
};

#else

// sums[i] += dy[i] * x[i * step].
static void FN(add_products)(double *sums, const T *dy, const T *x, int64_t step, int64_t count) {
  if (step == 1)
    for (int64_t i = 0; i < count; i++) sums[i] += (double)dy[i] * (double)x[i];
  else
    for (int64_t i = 0; i < count; i++) sums[i] += (double)dy[i] * (double)x[i * step];
}

// Plane m * x_group + c of dw.
static void FN(plane)(const dp_conv *conv, int64_t plane, const T *x, const T *dy, double *sums, T *dw) {
  const dp_window *window = &conv->window;
  int64_t m = plane / conv->x_group, channel = m / conv->y_group * conv->x_group + plane % conv->x_group;
  for (int64_t tap = 0; tap < window->kernel_plane; tap++) {
    for (int64_t i = 0; i < window->y[2]; i++) sums[i] = 0;
    for (int64_t n = 0; n < conv->samples; n++) {
      const T *of_x = x + (n * conv->x_channels + channel) * window->x_plane;
      const T *of_y = dy + (n * conv->y_channels + m) * window->y_plane;
      dp_window_runs r = dp_window_runs_of(window, tap);
      while (dp_window_next(&r)) FN(add_products)(sums, of_y + r.y, of_x + r.x, window->stride[2], r.count);
    }
    double sum = 0;
    for (int64_t i = 0; i < window->y[2]; i++) sum += sums[i];
    dw[plane * window->kernel_plane + tap] = (T)sum;
  }
}
#undef T
#endif
