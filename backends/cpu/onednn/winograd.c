// Winograd's convolution. See winograd.h.
#include "backends/cpu/onednn/winograd.h"

#include <string.h>

#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/primitive.h"
#include "backends/cpu/onednn/sgemm_code.h"
#include "backends/cpu/onednn/table.h"
#include "backends/cpu/reference/reference.h"

enum { TILE = DP_WINOGRAD_TILE, PATCH = DP_WINOGRAD_PATCH, POINTS = DP_WINOGRAD_POINTS, TAPS = 9 };
// Tiles and channels of y that are multiplied at a time, about; and what rows are padded by that are a power of two
// apart and so push each other out of the cache, in floats.
enum { TILES = 256, CHANNELS = 128, PERIOD = 256, PADDING = 16 };
// Below, transforms take more than products save.
enum { FEWEST_CHANNELS = 32 };

// ---- which ----------------------------------------------------------------------------------------------------------

static int64_t in_tiles(int64_t extent) { return (extent + TILE - 1) / TILE; }

// Products of a tile against those of its results: half at most.
static bool tiles_fill(const int64_t y[2]) {
  return y[0] > 0 && y[1] > 0 && 2 * POINTS * in_tiles(y[0]) * in_tiles(y[1]) <= TAPS * y[0] * y[1];
}

bool dp_winograd_of(const dp_kernel_spec *spec, const dp_local *x, const dp_local *w, dp_winograd *conv) {
  dp_conv c;
  if (!spec->winograd || spec->inputs[0].dtype != DP_FLOAT32 || x->rank != 4 || (x->symbolic & ~1u) ||
      x->shards[2] > 1 || x->shards[3] > 1 || dp_node_int(spec->node, "group", 1) != 1 ||
      dp_min_i64(w->whole[0], w->whole[1]) < FEWEST_CHANNELS)
    return false;
  dp_status status = dp_conv_make(spec, x, w, &c);  // which other kernels report
  if (status) return dp_status_free(status), false;
  *conv = (dp_winograd){.samples = c.samples, .x_channels = c.x_channels, .y_channels = c.y_channels};
  for (int d = 0; d < 2; d++) {
    const int at = d + 1;
    if (c.window.kernel[at] != 3 || c.window.stride[at] != 1 || c.window.dilation[at] != 1 || c.window.pad[at] < 0 ||
        c.window.pad[at] > 2)
      return false;
    conv->x[d] = c.window.x[at];
    conv->y[d] = c.window.y[at];
    conv->pad[d] = c.window.pad[at];
  }
  return tiles_fill(conv->y) && tiles_fill(conv->x);
}

dp_winograd dp_winograd_turned(const dp_winograd *conv) {
  return (dp_winograd){.samples = conv->samples,
                       .x_channels = conv->y_channels,
                       .y_channels = conv->x_channels,
                       .x = {conv->y[0], conv->y[1]},
                       .y = {conv->x[0], conv->x[1]},
                       .pad = {2 - conv->pad[0], 2 - conv->pad[1]}};
}

// ---- scratch --------------------------------------------------------------------------------------------------------

// Whole vectors.
static int64_t whole(int64_t channels) {
  return (channels + DP_WINOGRAD_CHANNELS - 1) / DP_WINOGRAD_CHANNELS * DP_WINOGRAD_CHANNELS;
}

static int64_t stride_of(int64_t channels) {
  const int64_t stride = whole(channels);
  return stride % PERIOD ? stride : stride + PADDING;
}

// Where a part's floats are, and how its work is cut. Strides: floats from one tile, pixel or weight to the next.
typedef struct {
  int64_t columns;                             // tiles in a unit
  int64_t units, tiles;                        // that are multiplied at a time
  int64_t channels;                            // of y, at a time
  int64_t x_stride, y_stride;                  // of channels
  int64_t patches, sums, weights, rows, taps;  // offsets of (points, tiles, x), (points, tiles, y), (points, y, x), ...
  int64_t floats;
} layout;

static layout lay_out(const dp_winograd *c) {
  layout l = {.columns = in_tiles(c->y[1]), .channels = dp_min_i64(CHANNELS, c->y_channels)};
  l.units = dp_min_i64(dp_max_i64(1, TILES / dp_max_i64(1, l.columns)), c->samples * in_tiles(c->y[0]));
  l.tiles = l.units * l.columns;
  l.x_stride = stride_of(c->x_channels);
  l.y_stride = stride_of(l.channels);
  l.sums = POINTS * l.tiles * l.x_stride;
  l.weights = l.sums + POINTS * l.tiles * l.y_stride;
  l.rows = l.weights + POINTS * l.channels * l.x_stride;
  l.taps = l.rows + PATCH * (TILE * l.columns + 2) * dp_max_i64(l.x_stride, l.y_stride);
  l.floats = l.taps + TAPS * l.x_stride;
  return l;
}

static uint64_t bytes_of(const layout *l) { return dp_align_up((uint64_t)l->floats * sizeof(float), DP_CPU_ALIGNMENT); }

uint64_t dp_winograd_scratch_bytes(const dp_kernel_spec *spec, const dp_winograd *conv) {
  const layout l = lay_out(conv);
  return (uint64_t)spec->threads * bytes_of(&l);
}

static float *room_of(const layout *l, void *scratch, int part) {
  return (float *)((char *)scratch + (uint64_t)part * bytes_of(l));
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// Some channels of a plane of an operand or a result: `first` is element (0, 0) of the first of them.
typedef struct {
  int64_t rows, columns, channels;
} plane;

// Rows row .. row + count - 1 and columns column .. column + width - 1, channels last, 0 where the plane has none.
static void read_rows(const dp_winograd_table *t, const plane *p, const float *first, int64_t row, int64_t count,
                      int64_t column, int64_t width, int64_t stride, float *to) {
  const int64_t from = dp_max_i64(0, column), end = dp_min_i64(p->columns, column + width);
  memset(to, 0, (size_t)(count * width * stride) * sizeof *to);
  for (int64_t r = dp_max_i64(0, -row); r < dp_min_i64(count, p->rows - row); r++)
    t->transpose(p->channels, end - from, first + (row + r) * p->columns + from, p->rows * p->columns,
                 to + (r * width + from - column) * stride, stride);
}

static void write_rows(const dp_winograd_table *t, const plane *p, const float *from, int64_t row, int64_t width,
                       int64_t stride, float *first) {
  for (int64_t r = 0; r < dp_min_i64(TILE, p->rows - row); r++)
    t->transpose(p->columns, p->channels, from + r * width * stride, stride, first + (row + r) * p->columns,
                 p->rows * p->columns);
}

// The patches of a unit, which is row `row` of tiles of sample n.
static void read_patches(const dp_winograd *c, const dp_winograd_table *t, const layout *l, const float *x, int64_t n,
                         int64_t row, float *room, float *to) {
  const plane p = {c->x[0], c->x[1], c->x_channels};
  const int64_t width = TILE * l->columns + 2, point = l->tiles * l->x_stride;
  float *rows = room + l->rows;
  read_rows(t, &p, x + n * p.channels * p.rows * p.columns, row * TILE - c->pad[0], PATCH, -c->pad[1], width,
            l->x_stride, rows);
  for (int64_t i = 0; i < l->columns; i++)
    t->vectors->patch(whole(p.channels), rows + i * TILE * l->x_stride, width * l->x_stride, l->x_stride,
                      to + i * l->x_stride, PATCH * point, point);
}

// ---- shares ---------------------------------------------------------------------------------------------------------

// What a part does: units of all samples, and channels of y.
typedef struct {
  int64_t unit, last_unit, channel, last_channel;
} share;

// Where there are more tiles than channels the former are divided, so that each part makes few of the weights again;
// else the latter, so that each makes few of the patches again.
static share share_of(const dp_winograd *c, const layout *l, bool sums, int part, int parts) {
  share s = {0, c->samples * in_tiles(c->y[0]), 0, c->y_channels};
  if (!sums && s.last_unit * l->columns >= c->y_channels)
    dp_part_range(s.last_unit, part, parts, &s.unit, &s.last_unit);
  else
    dp_part_range(c->y_channels, part, parts, &s.channel, &s.last_channel);
  return s;
}

// All patches of the units from `unit` on. Those of a share that are multiplied at once are made once.
static void make_patches(const dp_winograd *c, const dp_winograd_table *t, const layout *l, const float *x,
                         int64_t unit, int64_t count, float *room) {
  const int64_t high = in_tiles(c->y[0]);
  for (int64_t u = 0; u < count; u++)
    read_patches(c, t, l, x, (unit + u) / high, (unit + u) % high, room,
                 room + l->patches + u * l->columns * l->x_stride);
}

// ---- the convolution ------------------------------------------------------------------------------------------------

// The weights of channels `channel` on: (points, channels, x channels).
static void make_weights(const dp_winograd *c, const dp_winograd_table *t, const layout *l,
                         const dp_winograd_weights *w, int64_t channel, int64_t channels, float *room) {
  const int64_t stride = l->x_stride, point = l->channels * stride;
  float *taps = room + l->taps;
  memset(taps, 0, (size_t)(TAPS * stride) * sizeof *taps);
  for (int64_t k = 0; k < channels; k++) {
    t->transpose(c->x_channels, TAPS, w->first + (channel + k) * w->y_stride, w->x_stride, taps, stride);
    const float *first = w->turned ? taps + (TAPS - 1) * stride : taps;
    const int64_t step = w->turned ? -stride : stride;
    t->vectors->weights(whole(c->x_channels), first, 3 * step, step, room + l->weights + k * stride, PATCH * point,
                        point);
  }
}

static void add_bias(const float *bias, int64_t channels, int64_t pixels, int64_t stride, float *rows) {
  for (int64_t i = 0; i < pixels; i++)
    for (int64_t k = 0; k < channels; k++) rows[i * stride + k] += bias[k];
}

// The tiles of `count` units, from the sums of their products.
static void write_tiles(const dp_winograd *c, const dp_winograd_table *t, const layout *l, int64_t unit, int64_t count,
                        int64_t channel, int64_t channels, const float *bias, float *room, float *y) {
  const plane p = {c->y[0], c->y[1], channels};
  const int64_t high = in_tiles(p.rows), width = TILE * l->columns, point = l->tiles * l->y_stride;
  float *rows = room + l->rows;
  for (int64_t u = unit; u < unit + count; u++) {
    const float *sums = room + l->sums + (u - unit) * l->columns * l->y_stride;
    for (int64_t i = 0; i < l->columns; i++)
      t->vectors->tile(whole(channels), sums + i * l->y_stride, PATCH * point, point, rows + i * TILE * l->y_stride,
                       width * l->y_stride, l->y_stride);
    if (bias) add_bias(bias + channel, channels, TILE * width, l->y_stride, rows);
    write_rows(t, &p, rows, u % high * TILE, width, l->y_stride,
               y + (u / high * c->y_channels + channel) * p.rows * p.columns);
  }
}

dp_status dp_winograd_convolve(const dp_winograd *c, const dp_winograd_table *t, const float *x,
                               const dp_winograd_weights *w, const float *bias, float *y, void *scratch, int part,
                               int parts) {
  const layout l = lay_out(c);
  const share s = share_of(c, &l, false, part, parts);
  float *room = room_of(&l, scratch, part);
  for (int64_t k = s.channel; k < s.last_channel; k += l.channels) {
    const int64_t channels = dp_min_i64(l.channels, s.last_channel - k);
    make_weights(c, t, &l, w, k, channels, room);
    for (int64_t u = s.unit; u < s.last_unit; u += l.units) {
      const int64_t count = dp_min_i64(l.units, s.last_unit - u);
      if (k == s.channel || s.last_unit - s.unit > l.units) make_patches(c, t, &l, x, u, count, room);
      if (!c->x_channels) memset(room + l.sums, 0, (size_t)(POINTS * l.tiles * l.y_stride) * sizeof *room);
      for (int p = 0; p < POINTS && c->x_channels; p++)
        DP_TRY(dp_primitive_sgemm(false, true, count * l.columns, channels, c->x_channels, 1,
                                  room + l.patches + p * l.tiles * l.x_stride, l.x_stride,
                                  room + l.weights + p * l.channels * l.x_stride, l.x_stride, 0,
                                  room + l.sums + p * l.tiles * l.y_stride, l.y_stride, 1));
      write_tiles(c, t, &l, u, count, k, channels, bias, room, y);
    }
  }
  return DP_OK;
}

// ---- the gradient of the weights ------------------------------------------------------------------------------------

// The transformed tiles of dy, as patches are those of x.
static void read_tiles(const dp_winograd *c, const dp_winograd_table *t, const layout *l, const float *dy, int64_t unit,
                       int64_t count, int64_t channel, int64_t channels, float *room) {
  const plane p = {c->y[0], c->y[1], channels};
  const int64_t high = in_tiles(p.rows), width = TILE * l->columns, point = l->tiles * l->y_stride;
  float *rows = room + l->rows;
  for (int64_t u = unit; u < unit + count; u++) {
    float *to = room + l->sums + (u - unit) * l->columns * l->y_stride;
    read_rows(t, &p, dy + (u / high * c->y_channels + channel) * p.rows * p.columns, u % high * TILE, TILE, 0, width,
              l->y_stride, rows);
    for (int64_t i = 0; i < l->columns; i++)
      t->vectors->tile_grad(whole(channels), rows + i * TILE * l->y_stride, width * l->y_stride, l->y_stride,
                            to + i * l->y_stride, PATCH * point, point);
  }
}

static void write_weights(const dp_winograd *c, const dp_winograd_table *t, const layout *l, int64_t channel,
                          int64_t channels, float *room, float *dw) {
  const int64_t stride = l->x_stride, point = l->channels * stride;
  for (int64_t k = 0; k < channels; k++) {
    t->vectors->weights_grad(whole(c->x_channels), room + l->weights + k * stride, PATCH * point, point, room + l->taps,
                             3 * stride, stride);
    t->transpose(TAPS, c->x_channels, room + l->taps, stride, dw + (channel + k) * c->x_channels * TAPS, TAPS);
  }
}

dp_status dp_winograd_weights_grad(const dp_winograd *c, const dp_winograd_table *t, const float *x, const float *dy,
                                   float *dw, void *scratch, int part, int parts) {
  const layout l = lay_out(c);
  const share s = share_of(c, &l, true, part, parts);
  float *room = room_of(&l, scratch, part);
  for (int64_t k = s.channel; k < s.last_channel; k += l.channels) {
    const int64_t channels = dp_min_i64(l.channels, s.last_channel - k);
    for (int64_t u = s.unit; u < s.last_unit; u += l.units) {
      const int64_t count = dp_min_i64(l.units, s.last_unit - u);
      if (k == s.channel || s.last_unit - s.unit > l.units) make_patches(c, t, &l, x, u, count, room);
      read_tiles(c, t, &l, dy, u, count, k, channels, room);
      for (int p = 0; p < POINTS; p++)
        DP_TRY(dp_primitive_sgemm(true, false, channels, c->x_channels, count * l.columns, 1,
                                  room + l.sums + p * l.tiles * l.y_stride, l.y_stride,
                                  room + l.patches + p * l.tiles * l.x_stride, l.x_stride, u == s.unit ? 0 : 1,
                                  room + l.weights + p * l.channels * l.x_stride, l.x_stride, 1));
    }
    write_weights(c, t, &l, k, channels, room, dw);
  }
  return DP_OK;
}

// ---- load -----------------------------------------------------------------------------------------------------------

static const dp_winograd_table avx2 = {&dp_vector_winograd_avx2, dp_vector_transpose_avx2},
                               avx512 = {&dp_vector_winograd_avx512, dp_vector_transpose_avx512};

dp_status dp_winograd_prepare(const dp_kernel_spec *spec, void **state) {
  DP_TRY(dp_isa_table(spec, &avx2, &avx512, state));
  return dp_sgemm_code_prepare();
}
