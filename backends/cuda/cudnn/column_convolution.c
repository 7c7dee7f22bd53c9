// See column_convolution.h.
#include "backends/cuda/cudnn/column_convolution.h"

#include <stdlib.h>

#include "backends/cuda/blaslt/product.h"
#include "backends/cuda/cudnn/ways.h"
#include "backends/cuda/device/columns.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/turn_weights.h"
#include "backends/cuda/gpu/alignment.h"
#include "backends/cuda/gpu/choices.h"
#include "backends/cuda/kernels/spread.h"
#include "backends/cuda/kernels/types.h"
#include "ir/base/base.h"

// LEAST_PLANE: windows of a sample that fill a tile of the library's products.
enum { LEAST_PLANE = 64 };
#define MOST_FLOATS 1e15  // of columns, if they were made at once

// ---- extents --------------------------------------------------------------------------------------------------------

// As a convolution of x, or of dy.
typedef struct {
  bool turned;       // the weights are
  dp_window window;  // of the columns
  int64_t all_samples, channels, taps;
  int64_t rows, sum, windows;  // of a sample's product: (rows, sum) by (sum, windows)
  int64_t samples;             // of a chunk: all chunks have as many; 0: they cannot
} division;

static int64_t sample_bytes(const division *d) { return d->sum * d->windows * (int64_t)sizeof(float); }

// The gradient: what dx's element i gets from window o and tap t, i = o + t * dilation - pad, it gets as a window of dy
// that begins at i - ((kernel - 1) * dilation - pad), from tap kernel - 1 - t.
static dp_window window_of_gradient(const dp_window *w) {
  dp_window made = *w;
  for (int d = 0; d < 3; d++) {
    made.x[d] = w->y[d];
    made.y[d] = w->x[d];
    made.pad[d] = (w->kernel[d] - 1) * w->dilation[d] - w->pad[d];
  }
  return made;
}

static void divide(const dp_columns_limits *limits, division *d) {
  const int64_t most = dp_min_i64(limits->chunk_bytes / sample_bytes(d), d->all_samples);
  d->samples = most;
  while (d->samples > 0 && d->all_samples % d->samples) d->samples--;
  if (2 * d->samples < most) d->samples = 0;
}

static bool is_whole(const dp_kernel_operand *operand) {
  for (int d = 2; d < operand->local.rank; d++)
    if (operand->local.shards[d] > 1) return false;
  return !(operand->local.symbolic & ~1u);
}

// Whether it, or a smaller part of it, may be within the limits.
static bool is_large(const dp_kernel_spec *spec, const dp_cudnn_convolution *c, const dp_columns_limits *limits,
                     division *d) {
  const bool gradient = c->kind == DP_CUDNN_GRAD_INPUT;
  dp_conv e;
  if (spec->inputs[0].dtype != DP_FLOAT32 || spec->tf32 || spec->inputs[0].layout != DP_LAYOUT_PLAIN) return false;
  if (!is_whole(&spec->inputs[0]) || !is_whole(&spec->inputs[1]) || !is_whole(&spec->outputs[0])) return false;
  if (spec->inputs[c->conv->w].local.symbolic) return false;
  dp_status status = dp_cuda_conv_extents(spec, c->conv, &e);
  const bool made = !status;
  dp_status_free(status);
  if (!made || e.groups != 1 || !dp_cuda_window_is_small(&e.window)) return false;
  const dp_window *w = &e.window;
  *d = (division){.turned = gradient,
                  .window = gradient ? window_of_gradient(w) : *w,
                  .all_samples = e.samples,
                  .channels = gradient ? e.y_channels : e.x_channels,
                  .taps = w->kernel_plane,
                  .rows = gradient ? e.x_channels : e.y_channels,
                  .windows = gradient ? w->x_plane : w->y_plane};
  d->sum = d->channels * d->taps;
  for (int i = 0; i < 3 && gradient; i++)
    if (w->stride[i] != 1) return false;
  if (d->windows < LEAST_PLANE || d->windows % DP_COLUMNS_LANES || d->rows < limits->channels || d->sum == 0)
    return false;
  const double columns = (double)d->sum * (double)d->windows * (double)d->all_samples;
  return columns <= MOST_FLOATS && 2 * (double)d->rows * columns >= (double)limits->flops;
}

// Indices within a chunk of x are of 31 bits.
static bool fits(const dp_columns_limits *limits, division *d) {
  divide(limits, d);
  const dp_window *w = &d->window;
  return d->samples > 0 &&
         limits->chunk_bytes / sample_bytes(d) * d->channels * w->x[0] * w->x[1] * w->x[2] <= INT32_MAX;
}

bool dp_column_convolution_fits(const dp_kernel_spec *spec, const dp_cudnn_convolution *c,
                                const dp_columns_limits *limits) {
  division d;
  return is_large(spec, c, limits, &d) && fits(limits, &d);
}

// ---- scratch --------------------------------------------------------------------------------------------------------

static uint64_t aligned(int64_t bytes) { return dp_align_up((uint64_t)bytes, DP_CUDA_ALIGNMENT); }

static uint64_t weights_bytes(const division *d) {
  return d->turned ? aligned(d->rows * d->sum * (int64_t)sizeof(float)) : 0;
}

// The columns, the turned weights, then the library's workspace.
static uint64_t bytes_with(const division *d, int64_t columns_bytes) {
  return aligned(columns_bytes) + weights_bytes(d) + dp_blaslt_workspace(d->rows * d->windows);
}

// With fewer channels a chunk may have more samples.
uint64_t dp_column_convolution_scratch_bytes(const dp_kernel_spec *spec, const dp_cudnn_convolution *c,
                                             const dp_columns_limits *limits) {
  division d;
  if (!is_large(spec, c, limits, &d)) return 0;
  return bytes_with(&d, dp_min_i64(limits->chunk_bytes, d.all_samples * sample_bytes(&d)));
}

uint64_t dp_column_convolution_needed_bytes(const dp_kernel_spec *spec, const dp_cudnn_convolution *c,
                                            const dp_columns_limits *limits) {
  division d;
  return is_large(spec, c, limits, &d) && fits(limits, &d) ? bytes_with(&d, d.samples * sample_bytes(&d)) : 0;
}

// ---- prepare --------------------------------------------------------------------------------------------------------

typedef struct {
  division division;
  const dp_cuda_function *columns, *turn, *spread;  // NULL: weights are taken as they are; there is no bias
  dp_blaslt_product product;                        // of a chunk
} convolution;

static dp_status add_functions(const dp_kernel_spec *spec, const dp_cuda_conv *conv, convolution *c) {
  const char *defines = dp_cuda_type_of(DP_FLOAT32)->defines;
  DP_TRY(dp_cuda_function_add("columns_float32", defines, dp_cuda_source_columns, &c->columns));
  if (dp_cuda_conv_has_bias(spec, conv)) DP_TRY(dp_cuda_spread_add(DP_FLOAT32, &c->spread));
  if (!c->division.turned) return DP_OK;
  return dp_cuda_function_add("turn_weights_float32", defines, dp_cuda_source_turn_weights, &c->turn);
}

static dp_status make(const dp_kernel_spec *spec, const dp_cudnn_convolution *c, const dp_columns_limits *limits,
                      convolution *made, bool *found) {
  division *d = &made->division;
  if (!is_large(spec, c, limits, d) || !fits(limits, d)) return dp_fail(EX_SOFTWARE, "a convolution without columns");
  const dp_blaslt_spec p = {.dtype = DP_FLOAT32,
                            .m = d->rows,
                            .n = d->windows,
                            .k = d->sum,
                            .batches = d->samples,
                            .b_stride = d->windows,
                            .b_row = d->samples * d->windows,
                            .alpha = 1,
                            .alignment = DP_BLASLT_ALIGNMENT,
                            .workspace = dp_blaslt_workspace(d->rows * d->windows)};
  DP_TRY(dp_blaslt_product_make(&p, &made->product, found));
  if (!*found) return DP_OK;
  dp_cuda_choice_add("columns of %lld samples at a time", (long long)d->samples);
  return add_functions(spec, c->conv, made);
}

dp_status dp_column_convolution_prepare(const dp_kernel_spec *spec, const dp_cudnn_convolution *c,
                                        const dp_columns_limits *limits, void **state) {
  convolution *made = calloc(1, sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "there is no memory for the state of a convolution");
  bool found = false;
  dp_status status = make(spec, c, limits, made, &found);
  *state = !status && found ? made : NULL;
  if (!*state) free(made);
  return status;
}

dp_status dp_column_convolution_add_functions(const dp_kernel *kernel, const dp_kernel_spec *spec) {
  const bool gradient = kernel == &dp_kernel_cuda_cudnn_dp_ConvGradInput;
  if (!gradient && kernel != &dp_kernel_cuda_cudnn_Conv) return DP_OK;
  const dp_cudnn_convolution forward = {DP_CUDNN_CONV, &dp_cuda_conv_forward},
                             backward = {DP_CUDNN_GRAD_INPUT, &dp_cuda_conv_grad_input};
  const dp_cudnn_convolution *c = gradient ? &backward : &forward;
  convolution made = {.division = {.turned = gradient}};
  return dp_column_convolution_scratch_bytes(spec, c, &dp_columns_usual) ? add_functions(spec, c->conv, &made) : DP_OK;
}

// ---- enqueue --------------------------------------------------------------------------------------------------------

static dp_status turn_weights(const convolution *c, dp_queue *queue, const void *w, void *turned) {
  const division *d = &c->division;
  const dp_turn_weights_arguments a = {
      .w = w, .turned = turned, .rows = d->channels, .columns = d->rows, .taps = d->taps};
  return dp_cuda_launch(queue, c->turn, dp_cuda_blocks(d->rows * d->sum), DP_CUDA_THREADS, &a, sizeof a);
}

static dp_status put_chunk(const convolution *c, dp_queue *queue, const dp_columns_arguments *a,
                           const dp_blaslt_data *data, void *workspace) {
  DP_TRY(dp_cuda_launch(queue, c->columns, dp_cuda_blocks(a->channels * a->row / DP_COLUMNS_LANES), DP_CUDA_THREADS, a,
                        sizeof *a));
  return dp_blaslt_product_enqueue(&c->product, queue, data, workspace);
}

dp_status dp_column_convolution_enqueue(const dp_cudnn_convolution *of, void *state, dp_queue *queue,
                                        const void *const *in, void *const *out, void *scratch) {
  const convolution *c = state;
  const division *d = &c->division;
  char *columns = scratch, *turned = columns + aligned(d->samples * sample_bytes(d));
  const void *w = in[of->conv->w];
  const float *x = in[d->turned ? of->conv->y : of->conv->x];
  float *y = out[0];
  if (c->turn) DP_TRY(turn_weights(c, queue, w, turned));
  dp_columns_arguments a = {.columns = columns,
                            .samples = d->samples,
                            .channels = d->channels,
                            .row = d->samples * d->windows,
                            .window = dp_cuda_window(&d->window)};
  const int64_t x_sample = d->channels * d->window.x[0] * d->window.x[1] * d->window.x[2];
  for (int64_t first = 0; first < d->all_samples; first += d->samples) {
    a.x = x + first * x_sample;
    const dp_blaslt_data data = {.a = c->turn ? turned : w, .b = columns, .y = y + first * d->rows * d->windows};
    DP_TRY(put_chunk(c, queue, &a, &data, turned + weights_bytes(d)));
  }
  if (!c->spread) return DP_OK;
  const dp_spread_arguments bias = {.y = y,
                                    .c = in[of->conv->bias],
                                    .count = d->all_samples * d->rows * d->windows,
                                    .rows = d->rows,
                                    .columns = d->windows,
                                    .row = 1,
                                    .factor = 1,
                                    .adds = true};
  return dp_cuda_spread(queue, c->spread, &bias);
}

// ---- as a way of a kernel -------------------------------------------------------------------------------------------

static bool fits_usual(const dp_kernel_spec *spec, const dp_cudnn_convolution *c) {
  return dp_column_convolution_fits(spec, c, &dp_columns_usual);
}

static uint64_t usual_bytes(const dp_kernel_spec *spec, const dp_cudnn_convolution *c) {
  return dp_column_convolution_scratch_bytes(spec, c, &dp_columns_usual);
}

static dp_status prepare_usual(const dp_kernel_spec *spec, const dp_cudnn_convolution *c, void **state) {
  return dp_column_convolution_prepare(spec, c, &dp_columns_usual, state);
}

const dp_conv_columns dp_conv_columns_batch = {
    {"columns", prepare_usual, free, dp_column_convolution_enqueue}, fits_usual, usual_bytes};
