// dp.ConvGradWeight(x, dy): dw[m, c, t] is the sum over samples n and windows of
// dy[n, m, window] * x[n, c, window + t].
#ifndef T
#include "backends/cpu/reference/conv.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

// Holds rows of windows.
static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_local *dy = &spec->inputs[1].local;
  return dp_conv_scratch(spec, dy->extents[dy->rank - 1]);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_conv conv;
  DP_TRY(dp_conv_make(spec, &spec->inputs[0].local, &spec->outputs[0].local, &conv));
  double *sums = (double *)scratch + part * DP_CONV_BLOCK * conv.window.y[2];
  int64_t lo, hi;
  dp_part_range(conv.groups * dp_conv_blocks(conv.y_group) * conv.x_group, part, parts, &lo, &hi);
  for (int64_t block = lo; block < hi; block++) {
    if (spec->inputs[0].dtype == DP_FLOAT32)
      compute_block_float(&conv, block, in[0], in[1], sums, out[0]);
    else
      compute_block_double(&conv, block, in[0], in[1], sums, out[0]);
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

// Adds dy[b][i] * x[i * stride] to row b of the sums, which has `row` elements.
static void FN(add_products)(double *sums, int64_t row, const T *const dy[DP_CONV_BLOCK], const T *restrict x,
                             int64_t stride, int64_t count) {
  double *restrict s0 = sums, *restrict s1 = sums + row, *restrict s2 = sums + 2 * row, *restrict s3 = sums + 3 * row;
  const T *d0 = dy[0], *d1 = dy[1], *d2 = dy[2], *d3 = dy[3];
  for (int64_t i = 0; i < count; i++) {
    double value = (double)(stride == 1 ? x[i] : x[i * stride]);
    s0[i] += (double)d0[i] * value;
    s1[i] += (double)d1[i] * value;
    s2[i] += (double)d2[i] * value;
    s3[i] += (double)d3[i] * value;
  }
}

// Computes a block of y's channels with one of x's; `number` is (group, block, c), row-major.
static void FN(compute_block)(const dp_conv *conv, int64_t number, const T *x, const T *dy, double *sums, T *dw) {
  const dp_window *window = &conv->window;
  int64_t blocks = dp_conv_blocks(conv->y_group), c = number % conv->x_group, row = window->y[2], first;
  int64_t block = number / conv->x_group, group = block / blocks;
  int channels = dp_conv_block(conv->y_group, block % blocks, &first);
  int64_t m = group * conv->y_group + first, channel = group * conv->x_group + c;
  for (int64_t tap = 0; tap < window->kernel_plane; tap++) {
    for (int64_t i = 0; i < DP_CONV_BLOCK * row; i++) sums[i] = 0;
    for (int64_t n = 0; n < conv->samples; n++) {
      const T *of_x = x + (n * conv->x_channels + channel) * window->x_plane;
      const T *of_y = dy + (n * conv->y_channels + m) * window->y_plane;
      dp_window_runs r = dp_window_runs_of(window, tap);
      while (dp_window_next(&r)) {
        const T *rows[DP_CONV_BLOCK];  // a short block repeats its first channel; those sums are ignored
        for (int b = 0; b < DP_CONV_BLOCK; b++) rows[b] = of_y + (b < channels ? b : 0) * window->y_plane + r.y;
        FN(add_products)(sums, row, rows, of_x + r.x, window->stride[2], r.count);
      }
    }
    for (int b = 0; b < channels; b++) {
      double sum = 0;
      for (int64_t i = 0; i < row; i++) sum += sums[b * row + i];
      dw[((m + b) * conv->x_group + c) * window->kernel_plane + tap] = (T)sum;
    }
  }
}
#undef T
#endif
