// Conv: y[n, m] = bias[m] + the sum over the group's channels c and the kernel's taps t of w[m, c, t] * x[n, c, window
// + t].
#ifndef T
#include "backends/cpu/reference/conv.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_local *y = &spec->outputs[0].local;
  return dp_conv_scratch(spec, dp_product(y->extents, 2, y->rank));
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_conv conv;
  DP_TRY(dp_conv_make(spec, &spec->inputs[0].local, &spec->inputs[1].local, &conv));
  double *sums = (double *)scratch + part * DP_CONV_BLOCK * conv.window.y_plane;
  const void *bias = dp_has_in(spec, 2) ? in[2] : NULL;
  int64_t lo, hi;
  dp_part_range(conv.samples * conv.groups * dp_conv_blocks(conv.y_group), part, parts, &lo, &hi);
  for (int64_t block = lo; block < hi; block++) {
    if (spec->inputs[0].dtype == DP_FLOAT32)
      compute_block_float(&conv, block, in[0], in[1], bias, sums, out[0]);
    else
      compute_block_double(&conv, block, in[0], in[1], bias, sums, out[0]);
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

// Adds weights[b] * x[i * stride] to row b of the sums, which has `plane` elements.
static void FN(accumulate_row)(double *sums, int64_t plane, const double weights[DP_CONV_BLOCK], const T *restrict x,
                               int64_t stride, int64_t count) {
  double *restrict s0 = sums, *restrict s1 = sums + plane, *restrict s2 = sums + 2 * plane,
                   *restrict s3 = sums + 3 * plane;
  double w0 = weights[0], w1 = weights[1], w2 = weights[2], w3 = weights[3];
  for (int64_t i = 0; i < count; i++) {
    double value = (double)(stride == 1 ? x[i] : x[i * stride]);
    s0[i] += w0 * value;
    s1[i] += w1 * value;
    s2[i] += w2 * value;
    s3[i] += w3 * value;
  }
}

// Computes a block of y's channels for one sample and group; `number` is (n, group, block), row-major.
static void FN(compute_block)(const dp_conv *conv, int64_t number, const T *x, const T *w, const T *bias, double *sums,
                              T *y) {
  const dp_window *window = &conv->window;
  int64_t blocks = dp_conv_blocks(conv->y_group), taps = window->kernel_plane, plane = window->y_plane, first;
  int64_t group = number / blocks % conv->groups, n = number / blocks / conv->groups;
  int channels = dp_conv_block(conv->y_group, number % blocks, &first);
  int64_t m = group * conv->y_group + first;
  for (int64_t i = 0; i < DP_CONV_BLOCK * plane; i++)
    sums[i] = bias && i / plane < channels ? (double)bias[m + i / plane] : 0;
  for (int64_t c = 0; c < conv->x_group; c++) {
    const T *from = x + (n * conv->x_channels + group * conv->x_group + c) * window->x_plane;
    for (int64_t tap = 0; tap < taps; tap++) {
      double weights[DP_CONV_BLOCK] = {0};
      for (int b = 0; b < channels; b++) weights[b] = (double)w[((m + b) * conv->x_group + c) * taps + tap];
      dp_window_runs r = dp_window_runs_of(window, tap);
      while (dp_window_next(&r)) FN(accumulate_row)(sums + r.y, plane, weights, from + r.x, window->stride[2], r.count);
    }
  }
  for (int64_t i = 0; i < channels * plane; i++) y[(n * conv->y_channels + m) * plane + i] = (T)sums[i];
}
#undef T
#endif
