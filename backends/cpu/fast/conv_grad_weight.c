// dp.ConvGradWeight(x, dy), tap by tap of the kernel:
//
//   dw[m, c, tap] = sum of dy[m] x[c]  over the samples and windows whose tap lies inside x.
//
// One operand is copied with a block of its channels last: x, or dy where x has few channels. The other, of which the
// result has a row for each channel, is read where it is. oneDNN's own kernels compute along rows of a plane and take
// up to twice the time where these are short, and many times the time for one channel of x.
//
// The result is divided into items, a block of channels by a slice of rows, and parts compute equally many of them. How
// an element is summed up does not depend on the number of parts.
#include <stdlib.h>
#include <string.h>

#include "backends/base/conv_extents.h"
#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/table.h"
#include "backends/cpu/reference/window.h"
#include "backends/cpu/vector/taps.h"
#include "backends/cpu/vector/transpose.h"
#include "ir/kernel/kernel.h"

enum { BLOCK = DP_TAPS_BLOCK };
// Below so many channels of both, blocks would be mostly padding.
enum { FEWEST_CHANNELS = BLOCK };
// Measured: on larger planes nothing is gained.
enum { MOST_WINDOWS = 4096 };
// More than WAYS channels whose planes are a multiple of CONFLICT floats push each other out of the cache: they are
// copied with a padding first.
enum { CONFLICT = 1024, WAYS = 8, PADDING = 16 };
// Windows that are multiplied at a time, of one sample or more: their block stays in the second cache.
enum { WINDOWS = 512 };

// Whether the block is dy's and the rows are x's.
static bool is_swapped(int64_t x_channels) { return x_channels < FEWEST_CHANNELS; }

static bool match(const dp_kernel_spec *spec) {
  const dp_local *x = &spec->inputs[0].local, *dy = &spec->inputs[1].local;
  if (spec->inputs[0].dtype != DP_FLOAT32 || x->rank < 3 || x->rank > 2 + 3 || (x->symbolic & ~1u)) return false;
  int64_t windows = 1;
  for (int d = 2; d < x->rank; d++) {
    if (x->shards[d] > 1) return false;
    windows *= dy->whole[d];
  }
  return dp_node_int(spec->node, "group", 1) == 1 && windows <= MOST_WINDOWS &&
         (is_swapped(x->whole[1]) ? dy : x)->whole[1] >= FEWEST_CHANNELS;
}

// ---- sizes ----------------------------------------------------------------------------------------------------------

// What is computed, by the two operands' roles.
typedef struct {
  dp_conv conv;
  bool swapped;
  int64_t block_channels, block_plane, row_channels, row_plane;
  int64_t pitch;  // floats from one plane of rows to the next, more than there are if they are copied
  // Of a part's scratch, in floats: a block of some samples, an item's sums (rows, taps, BLOCK), copied planes.
  int64_t samples, block, sums, copied;
} shape;

static dp_status shape_of(const dp_kernel_spec *spec, shape *made) {
  shape s = {.swapped = is_swapped(spec->inputs[0].local.whole[1])};
  DP_TRY(dp_conv_make(spec, &spec->inputs[0].local, &spec->outputs[0].local, &s.conv));
  const dp_window *w = &s.conv.window;
  s.block_channels = s.swapped ? s.conv.y_channels : s.conv.x_channels;
  s.row_channels = s.swapped ? s.conv.x_channels : s.conv.y_channels;
  s.block_plane = s.swapped ? w->y_plane : w->x_plane;
  s.row_plane = s.swapped ? w->x_plane : w->y_plane;
  s.samples = dp_min_i64(s.conv.samples, dp_max_i64(1, WINDOWS / dp_max_i64(1, w->y_plane)));
  s.block = s.samples * s.block_plane * BLOCK;
  s.sums = s.row_channels * w->kernel_plane * BLOCK;
  const bool conflict = s.row_plane % CONFLICT == 0 && s.row_channels > WAYS;
  s.pitch = s.row_plane + (conflict ? PADDING : 0);
  s.copied = conflict ? s.samples * s.row_channels * s.pitch : 0;
  *made = s;
  return DP_OK;
}

static uint64_t bytes_of_part(const shape *s) {
  return dp_align_up((uint64_t)(s->block + s->sums + s->copied) * sizeof(float), DP_CPU_ALIGNMENT);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  shape s;
  dp_status status = shape_of(spec, &s);  // which prepare reports
  const uint64_t bytes = status ? 0 : bytes_of_part(&s);
  dp_status_free(status);
  return bytes * (uint64_t)spec->threads;
}

// ---- runs of windows ------------------------------------------------------------------------------------------------

typedef struct {
  dp_vector_tap multiply;
  dp_vector_transpose transpose;
} table;

static const table avx2 = {dp_vector_tap_avx2, dp_vector_transpose_avx2},
                   avx512 = {dp_vector_tap_avx512, dp_vector_transpose_avx512};

typedef struct {
  const table *table;
  shape shape;
  int64_t block_step, row_step;  // from a window of a run to the next
  int64_t *first;                // (taps + 1) each tap's runs
  dp_tap_run *runs;              // of all taps
} taps_state;

// Adds a run, to the one before if it goes on where that ends.
static void add_run(taps_state *s, int64_t first, int64_t *count, dp_tap_run run) {
  dp_tap_run *last = *count > first ? &s->runs[*count - 1] : NULL;
  if (last && last->block + last->count * s->block_step == run.block &&
      last->row + last->count * s->row_step == run.row)
    last->count += run.count;
  else
    s->runs[(*count)++] = run;
}

static void find_runs(taps_state *s) {
  const dp_window *w = &s->shape.conv.window;
  int64_t count = 0;
  for (int64_t tap = 0; tap < w->kernel_plane; tap++) {
    s->first[tap] = count;
    dp_window_runs r = dp_window_runs_of(w, tap);
    while (dp_window_next(&r))
      add_run(s, s->first[tap], &count,
              s->shape.swapped ? (dp_tap_run){r.y, r.x, r.count} : (dp_tap_run){r.x, r.y, r.count});
  }
  s->first[w->kernel_plane] = count;
}

static void release(void *state) {
  taps_state *s = state;
  if (!s) return;
  free(s->first);
  free(s->runs);
  free(s);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  void *of_isa;
  shape shape;
  DP_TRY(dp_isa_table(spec, &avx2, &avx512, &of_isa));
  DP_TRY(shape_of(spec, &shape));
  const dp_window *w = &shape.conv.window;
  taps_state *s = calloc(1, sizeof *s);
  if (s) s->first = calloc((size_t)w->kernel_plane + 1, sizeof *s->first);
  if (s) s->runs = calloc((size_t)(w->kernel_plane * w->y[0] * w->y[1]) + 1, sizeof *s->runs);
  if (!s || !s->first || !s->runs) {
    release(s);
    return dp_fail(DP_EX_MEMORY, "out of memory");
  }
  s->table = of_isa;
  s->shape = shape;
  s->block_step = shape.swapped ? 1 : w->stride[2];
  s->row_step = shape.swapped ? w->stride[2] : 1;
  find_runs(s);
  *state = s;
  return DP_OK;
}

// ---- items ----------------------------------------------------------------------------------------------------------

// `width` channels of the block's operand from `channel` on, `rows` channels of the other from `row` on.
typedef struct {
  int64_t channel, width, row, rows;
} item;

// Slices of the rows, so many that parts have equally many items.
static int64_t slices_for(int64_t blocks, int parts) {
  int64_t common = parts, rest = blocks;
  while (rest) {
    const int64_t next = common % rest;
    common = rest;
    rest = next;
  }
  return parts / common;
}

static item item_of(const shape *s, int64_t number, int64_t slices) {
  item i = {.channel = number / slices * BLOCK};
  int64_t end;
  i.width = dp_min_i64(BLOCK, s->block_channels - i.channel);
  dp_part_range(s->row_channels, (int)(number % slices), (int)slices, &i.row, &end);
  i.rows = end - i.row;
  return i;
}

// The operands of a product, as they are read: a block of channels, and planes of rows.
typedef struct {
  const float *block, *rows;
  int64_t rows_sample;
} operands;

// Copies what samples [from, from + samples) of the item need.
static operands take(const taps_state *s, const item *of, int64_t from, int64_t samples, const void *const *in,
                     float *room) {
  const shape *p = &s->shape;
  const int64_t block_sample = p->block_channels * p->block_plane, rows_sample = p->row_channels * p->row_plane;
  const float *block = (const float *)in[p->swapped] + from * block_sample + of->channel * p->block_plane;
  const float *rows = (const float *)in[!p->swapped] + from * rows_sample + of->row * p->row_plane;
  for (int64_t n = 0; n < samples; n++)
    s->table->transpose(of->width, p->block_plane, block + n * block_sample, p->block_plane,
                        room + n * p->block_plane * BLOCK, BLOCK);
  if (!p->copied) return (operands){room, rows, rows_sample};
  float *copy = room + p->block + p->sums;
  for (int64_t n = 0; n < samples; n++)
    for (int64_t r = 0; r < of->rows; r++)
      memcpy(copy + (n * of->rows + r) * p->pitch, rows + n * rows_sample + r * p->row_plane,
             (size_t)p->row_plane * sizeof *copy);
  return (operands){room, copy, of->rows * p->pitch};
}

// Adds the products of samples [from, from + samples) to the sums, which the first ones write.
static void multiply(const taps_state *s, const item *of, int64_t from, int64_t samples, const void *const *in,
                     float *room) {
  const shape *p = &s->shape;
  const int64_t taps = p->conv.window.kernel_plane;
  const operands taken = take(s, of, from, samples, in, room);
  for (int64_t tap = 0; tap < taps; tap++) {
    const dp_tap t = {.runs = s->runs + s->first[tap],
                      .n_runs = s->first[tap + 1] - s->first[tap],
                      .samples = samples,
                      .block = taken.block,
                      .block_sample = p->block_plane * BLOCK,
                      .block_step = s->block_step,
                      .rows = taken.rows,
                      .rows_sample = taken.rows_sample,
                      .rows_channel = p->pitch,
                      .row_step = s->row_step};
    s->table->multiply(&t, of->rows, from > 0, room + p->block + tap * BLOCK, taps * BLOCK);
  }
}

// From sums (rows, taps, BLOCK) to dw (M, C, taps).
static void store(const taps_state *s, const item *of, const float *sums, float *dw) {
  const dp_conv *conv = &s->shape.conv;
  const int64_t taps = conv->window.kernel_plane, dw_row = conv->x_channels * taps;
  if (s->shape.swapped)
    s->table->transpose(of->rows * taps, of->width, sums, BLOCK, dw + of->channel * dw_row + of->row * taps, dw_row);
  for (int64_t m = 0; m < of->rows && !s->shape.swapped; m++) {
    float *to = dw + (of->row + m) * dw_row + of->channel * taps;
    if (taps == 1)
      memcpy(to, sums + m * BLOCK, (size_t)of->width * sizeof *to);
    else
      s->table->transpose(taps, of->width, sums + m * taps * BLOCK, BLOCK, to, taps);
  }
}

static void compute(const taps_state *s, const item *of, const void *const *in, float *dw, float *room) {
  const shape *p = &s->shape;
  // Channels that a last block lacks are multiplied and not used.
  if (of->width < BLOCK) memset(room, 0, (size_t)p->block * sizeof *room);
  for (int64_t at = 0; at < p->conv.samples; at += p->samples)
    multiply(s, of, at, dp_min_i64(p->samples, p->conv.samples - at), in, room);
  store(s, of, room + p->block, dw);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const taps_state *s = state;
  const shape *p = &s->shape;
  float *room = (float *)((char *)scratch + (uint64_t)part * bytes_of_part(p));
  if (!p->conv.samples || !p->conv.window.y_plane) {
    const size_t bytes = (size_t)dp_local_count(&spec->outputs[0].local) * sizeof *room;
    if (!part && bytes) memset(out[0], 0, bytes);
    return DP_OK;
  }
  const int64_t blocks = (p->block_channels + BLOCK - 1) / BLOCK, slices = slices_for(blocks, parts);
  int64_t at, end;
  dp_part_range(blocks * slices, part, parts, &at, &end);
  for (; at < end; at++) {
    const item of = item_of(p, at, slices);
    if (of.rows) compute(s, &of, in, out[0], room);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_taps_dp_ConvGradWeight = {
    .name = "cpu.taps.dp.ConvGradWeight",
    .op = "ConvGradWeight",
    .domain = "dp",
    .priority = 11,
    .library = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = release,
    .parts = true,
    .isa = true,
    .run = run,
};
