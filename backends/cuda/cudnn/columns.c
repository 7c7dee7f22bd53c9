// See columns.h.
#include "backends/cuda/cudnn/columns.h"

#include <stdlib.h>

#include "backends/cuda/blaslt/product.h"
#include "backends/cuda/cudnn/ways.h"
#include "backends/cuda/device/columns.h"
#include "backends/cuda/device/join_parts.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/alignment.h"
#include "backends/cuda/gpu/choices.h"
#include "backends/cuda/kernels/types.h"
#include "ir/base/base.h"
#include "ir/kernel/extents.h"

// A chunk stays in the cache of a large GPU (50 MB on Hopper) from when it is written until it is read.
const dp_columns_limits dp_columns_usual = {.channels = 32, .flops = 1 << 25, .chunk_bytes = 40 << 20};

// Results of a tile of the library's products in float32; tiles that keep two on each of 132 multiprocessors; parts of
// a sum, which are multiples of STEP.
#define MOST_FLOATS 1e15  // of columns and dy, if they were made at once
enum { TILE = 128 * 64, ENOUGH_TILES = 264, MOST_PARTS = 64, LEAST_SUM = 128, STEP = 16 };

// ---- extents --------------------------------------------------------------------------------------------------------

typedef struct {
  dp_conv conv;
  int64_t rows, columns;    // of dw
  int64_t windows;          // of a sample
  int64_t samples, chunks;  // samples of a chunk; the last may have fewer
  int64_t parts, sum;       // of a chunk's windows: so many parts of `sum`
} division;

static int64_t up(int64_t count, int64_t each) { return (count + each - 1) / each; }

// Bytes of a sample's columns and its dy.
static int64_t sample_bytes(const division *d) { return (d->rows + d->columns) * d->windows * (int64_t)sizeof(float); }

// False: these are no extents of a convolution, or there is nothing to sum.
static bool measure(const dp_kernel_spec *spec, division *d) {
  *d = (division){.rows = 0};
  dp_status status = dp_cuda_conv_extents(spec, &dp_cuda_conv_grad_weight, &d->conv);
  const bool made = !status;
  dp_status_free(status);
  if (!made) return false;
  const dp_window *w = &d->conv.window;
  d->rows = d->conv.y_channels;
  d->columns = d->conv.x_channels * w->kernel[0] * w->kernel[1] * w->kernel[2];
  d->windows = w->y_plane;
  return d->rows > 0 && d->columns > 0 && d->windows > 0 && d->conv.samples > 0;
}

// Whether it, or a smaller part of it, may be within the limits.
static bool is_large(const dp_kernel_spec *spec, const dp_columns_limits *limits, division *d) {
  if (spec->inputs[0].dtype != DP_FLOAT32 || spec->tf32 || spec->inputs[0].layout != DP_LAYOUT_PLAIN) return false;
  if ((spec->inputs[0].local.symbolic | spec->inputs[1].local.symbolic) & ~1u || spec->outputs[0].local.symbolic)
    return false;
  if (!measure(spec, d) || d->conv.groups != 1 || d->rows < limits->channels) return false;
  if (!dp_cuda_window_is_small(&d->conv.window)) return false;
  const double windows = (double)d->windows * (double)d->conv.samples, side = (double)(d->rows + d->columns);
  if (side * windows > MOST_FLOATS) return false;
  return 2 * (double)d->rows * (double)d->columns * windows >= (double)limits->flops;
}

// One sample at least belongs to a chunk, and indices within a chunk of x are of 31 bits.
static bool fits(const division *d, const dp_columns_limits *limits) {
  const int64_t most = limits->chunk_bytes / sample_bytes(d);
  return most > 0 && most * d->conv.x_channels * d->conv.window.x_plane <= INT32_MAX;
}

bool dp_columns_fit(const dp_kernel_spec *spec, const dp_columns_limits *limits) {
  division d;
  return is_large(spec, limits, &d) && fits(&d, limits);
}

static void divide(const dp_columns_limits *limits, division *d) {
  d->chunks = up(d->conv.samples, limits->chunk_bytes / sample_bytes(d));
  d->samples = up(d->conv.samples, d->chunks);
  const int64_t windows = d->samples * d->windows, tiles = up(d->rows * d->columns, TILE);
  const int64_t parts = dp_min_i64(dp_min_i64(ENOUGH_TILES / tiles, MOST_PARTS), windows / LEAST_SUM);
  d->sum = up(up(windows, dp_max_i64(parts, 1)), STEP) * STEP;
  d->parts = up(windows, d->sum);
}

// ---- scratch --------------------------------------------------------------------------------------------------------

// Bytes from the scratch's begin: columns, dy, then parts of the sum, if there are several, then the library's.
typedef struct {
  uint64_t dy, parts, workspace, end;
} layout;

static uint64_t aligned(int64_t floats) { return dp_align_up((uint64_t)floats * sizeof(float), DP_CUDA_ALIGNMENT); }

static layout lay_out(const division *d) {
  const int64_t row = d->parts * d->sum, results = d->rows * d->columns;
  layout l = {.dy = aligned(d->columns * row)};
  l.parts = l.dy + aligned(d->rows * row);
  l.workspace = l.parts + (d->parts > 1 ? aligned(d->parts * results) : 0);
  l.end = l.workspace + dp_blaslt_workspace(results);
  return l;
}

// With fewer channels a chunk may have more samples, and with fewer samples other parts: a row is no longer than its
// windows and a STEP for each part, and all parts have no more than ENOUGH_TILES.
uint64_t dp_columns_scratch_bytes(const dp_kernel_spec *spec, const dp_columns_limits *limits) {
  division d;
  if (!is_large(spec, limits, &d)) return 0;
  const int64_t results = d.rows * d.columns, ends = MOST_PARTS * STEP * (d.rows + d.columns);
  const int64_t chunk = dp_min_i64(limits->chunk_bytes, d.conv.samples * sample_bytes(&d)) / (int64_t)sizeof(float);
  const int64_t parts = dp_min_i64(ENOUGH_TILES * TILE, MOST_PARTS * results);
  return aligned(chunk + ends) + aligned(parts) + 2 * DP_CUDA_ALIGNMENT + dp_blaslt_workspace(results);
}

uint64_t dp_columns_needed_bytes(const dp_kernel_spec *spec, const dp_columns_limits *limits) {
  division d;
  if (!is_large(spec, limits, &d) || !fits(&d, limits)) return 0;
  divide(limits, &d);
  return lay_out(&d).end;
}

// ---- prepare --------------------------------------------------------------------------------------------------------

typedef struct {
  division division;
  const dp_cuda_function *columns, *join;
  dp_blaslt_product first, more;  // of the first chunk; of others, which add
  dp_columns_arguments x, dy;     // but for the addresses and the samples
} gradient;

static dp_status add_functions(const dp_cuda_function **columns, const dp_cuda_function **join) {
  const char *defines = dp_cuda_type_of(DP_FLOAT32)->defines;
  DP_TRY(dp_cuda_function_add("columns_float32", defines, dp_cuda_source_columns, columns));
  return dp_cuda_function_add("join_parts_float32", defines, dp_cuda_source_join_parts, join);
}

// dy's own columns are those of a window of one element: its planes, with samples inside.
static void set_arguments(gradient *g) {
  const division *d = &g->division;
  const dp_window plane = {.x = {1, 1, d->windows},
                           .y = {1, 1, d->windows},
                           .kernel = {1, 1, 1},
                           .stride = {1, 1, 1},
                           .dilation = {1, 1, 1}};
  const int64_t row = d->parts * d->sum;
  g->x = (dp_columns_arguments){.channels = d->conv.x_channels, .row = row, .window = dp_cuda_window(&d->conv.window)};
  g->dy = (dp_columns_arguments){.channels = d->rows, .row = row, .window = dp_cuda_window(&plane)};
}

static dp_status make_products(gradient *g, bool *found) {
  const division *d = &g->division;
  dp_blaslt_spec p = {.dtype = DP_FLOAT32,
                      .trans_b = true,
                      .m = d->rows,
                      .n = d->columns,
                      .k = d->sum,
                      .batches = d->parts,
                      .a_stride = d->sum,
                      .b_stride = d->sum,
                      .a_row = d->parts * d->sum,
                      .b_row = d->parts * d->sum,
                      .alpha = 1,
                      .alignment = DP_BLASLT_ALIGNMENT,
                      .workspace = dp_blaslt_workspace(d->rows * d->columns)};
  DP_TRY(dp_blaslt_product_make(&p, &g->first, found));
  if (!*found || d->chunks == 1) return DP_OK;
  p.beta = 1;
  return dp_blaslt_product_make(&p, &g->more, found);
}

static dp_status make(const dp_kernel_spec *spec, const dp_columns_limits *limits, gradient *g, bool *found) {
  division *d = &g->division;
  if (!measure(spec, d)) return dp_fail(EX_SOFTWARE, "a gradient of no weights by columns");
  divide(limits, d);
  set_arguments(g);
  DP_TRY(make_products(g, found));
  if (!*found) return DP_OK;
  dp_cuda_choice_add("columns of %lld samples at a time, %lld parts of the sum", (long long)d->samples,
                     (long long)d->parts);
  return add_functions(&g->columns, &g->join);
}

dp_status dp_columns_prepare(const dp_kernel_spec *spec, const dp_columns_limits *limits, void **state) {
  gradient *g = calloc(1, sizeof *g);
  if (!g) return dp_fail(DP_EX_MEMORY, "there is no memory for the state of a convolution");
  bool found = false;
  dp_status status = make(spec, limits, g, &found);
  *state = !status && found ? g : NULL;
  if (!*state) free(g);
  return status;
}

dp_status dp_columns_add_functions(const dp_kernel *kernel, const dp_kernel_spec *spec) {
  const dp_cuda_function *columns, *join;
  const bool adds =
      kernel == &dp_kernel_cuda_cudnn_dp_ConvGradWeight && dp_columns_scratch_bytes(spec, &dp_columns_usual);
  return adds ? add_functions(&columns, &join) : DP_OK;
}

// ---- enqueue --------------------------------------------------------------------------------------------------------

// Of samples from `first` on, which begin at x.
static dp_status put_columns(const gradient *g, dp_queue *queue, const dp_columns_arguments *of, int64_t first,
                             const float *x, void *columns) {
  const division *d = &g->division;
  const dp_device_window *w = &of->window;
  dp_columns_arguments a = *of;
  a.x = x + first * a.channels * w->x[0] * w->x[1] * w->x[2];
  a.columns = columns;
  a.samples = dp_min_i64(d->samples, d->conv.samples - first);
  return dp_cuda_launch(queue, g->columns, dp_cuda_blocks(a.channels * a.row / DP_COLUMNS_LANES), DP_CUDA_THREADS, &a,
                        sizeof a);
}

dp_status dp_columns_enqueue(void *state, dp_queue *queue, const void *x, const void *dy, void *dw, void *scratch) {
  const gradient *g = state;
  const division *d = &g->division;
  const layout l = lay_out(d);
  char *room = scratch;
  void *sums = d->parts > 1 ? room + l.parts : dw;
  const dp_blaslt_data data = {.a = room + l.dy, .b = room, .c = sums, .y = sums};
  for (int64_t first = 0; first < d->conv.samples; first += d->samples) {
    DP_TRY(put_columns(g, queue, &g->x, first, x, room));
    DP_TRY(put_columns(g, queue, &g->dy, first, dy, room + l.dy));
    DP_TRY(dp_blaslt_product_enqueue(first ? &g->more : &g->first, queue, &data, room + l.workspace));
  }
  if (d->parts == 1) return DP_OK;
  const dp_join_parts_arguments join = {.x = sums, .y = dw, .count = d->rows * d->columns, .parts = d->parts};
  return dp_cuda_launch(queue, g->join, up(join.count, DP_JOIN_SIDE), DP_JOIN_THREADS, &join, sizeof join);
}

// ---- as a way of a kernel -------------------------------------------------------------------------------------------

static bool fits_usual(const dp_kernel_spec *spec, const dp_cudnn_convolution *c) {
  (void)c;
  return dp_columns_fit(spec, &dp_columns_usual);
}

static uint64_t usual_bytes(const dp_kernel_spec *spec, const dp_cudnn_convolution *c) {
  (void)c;
  return dp_columns_scratch_bytes(spec, &dp_columns_usual);
}

static dp_status prepare_usual(const dp_kernel_spec *spec, const dp_cudnn_convolution *c, void **state) {
  (void)c;
  return dp_columns_prepare(spec, &dp_columns_usual, state);
}

static dp_status enqueue_way(const dp_cudnn_convolution *c, void *state, dp_queue *queue, const void *const *in,
                             void *const *out, void *scratch) {
  (void)c;
  return dp_columns_enqueue(state, queue, in[0], in[1], out[0], scratch);
}

const dp_conv_columns dp_conv_columns_sum = {{"columns", prepare_usual, free, enqueue_way}, fits_usual, usual_bytes};
