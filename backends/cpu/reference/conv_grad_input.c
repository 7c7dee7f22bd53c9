// dp.ConvGradInput(w, dy): dx[n, c, window + t] is the sum over the group's m and taps t of w[m, c, t] * dy[n, m,
// window].
#ifndef T
#include "backends/cpu/reference/conv.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_local *x = &spec->outputs[0].local;
  return dp_conv_scratch(spec, dp_product(x->extents, 2, x->rank));
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_conv conv;
  DP_TRY(dp_conv_make(spec, &spec->outputs[0].local, &spec->inputs[0].local, &conv));
  double *sums = (double *)scratch + part * DP_CONV_BLOCK * conv.window.x_plane;
  int64_t lo, hi;
  dp_part_range(conv.samples * conv.groups * dp_conv_blocks(conv.x_group), part, parts, &lo, &hi);
  for (int64_t block = lo; block < hi; block++) {
    if (spec->inputs[0].dtype == DP_FLOAT32)
      compute_block_float(&conv, block, in[0], in[1], sums, out[0]);
    else
      compute_block_double(&conv, block, in[0], in[1], sums, out[0]);
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

// Adds weights[b] * dy[i] to element i * stride of row b of the sums, which has `plane` elements.
static void FN(scatter)(double *sums, int64_t plane, const double weights[DP_CONV_BLOCK], const T *restrict dy,
                        int64_t stride, int64_t count) {
  double *restrict s0 = sums, *restrict s1 = sums + plane, *restrict s2 = sums + 2 * plane,
                   *restrict s3 = sums + 3 * plane;
  double w0 = weights[0], w1 = weights[1], w2 = weights[2], w3 = weights[3];
  for (int64_t i = 0; i < count; i++) {
    double value = (double)dy[i];
    int64_t at = stride == 1 ? i : i * stride;
    s0[at] += w0 * value;
    s1[at] += w1 * value;
    s2[at] += w2 * value;
    s3[at] += w3 * value;
  }
}

// Computes a block of x's channels for one sample and group; `number` is (n, group, block), row-major.
static void FN(compute_block)(const dp_conv *conv, int64_t number, const T *w, const T *dy, double *sums, T *dx) {
  const dp_window *window = &conv->window;
  int64_t blocks = dp_conv_blocks(conv->x_group), taps = window->kernel_plane, plane = window->x_plane, first;
  int64_t group = number / blocks % conv->groups, n = number / blocks / conv->groups;
  int channels = dp_conv_block(conv->x_group, number % blocks, &first);
  for (int64_t i = 0; i < DP_CONV_BLOCK * plane; i++) sums[i] = 0;
  for (int64_t m = group * conv->y_group; m < (group + 1) * conv->y_group; m++) {
    const T *from = dy + (n * conv->y_channels + m) * window->y_plane;
    for (int64_t tap = 0; tap < taps; tap++) {
      double weights[DP_CONV_BLOCK] = {0};
      for (int b = 0; b < channels; b++) weights[b] = (double)w[(m * conv->x_group + first + b) * taps + tap];
      dp_window_runs r = dp_window_runs_of(window, tap);
      while (dp_window_next(&r)) FN(scatter)(sums + r.x, plane, weights, from + r.y, window->stride[2], r.count);
    }
  }
  int64_t channel = n * conv->x_channels + group * conv->x_group + first;
  for (int64_t i = 0; i < channels * plane; i++) dx[channel * plane + i] = (T)sums[i];
}
#undef T
#endif
