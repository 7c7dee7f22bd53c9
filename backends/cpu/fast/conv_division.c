// See conv_division.h.
#include "backends/cpu/fast/conv_division.h"

#include <string.h>

#include "backends/cpu/reference/reference.h"

enum { BLOCK = DP_CONV_BLOCK, MOST = DP_CONV_TILE_MOST };

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// ---- tiles ----------------------------------------------------------------------------------------------------------

// Without a reach, lines of windows follow each other as their elements do: they are one line.
static bool is_flat(const dp_conv_division *d) { return !d->reach[0] && !d->reach[1]; }

static int64_t line_windows(const dp_conv_division *d) { return d->window.y[1] * (is_flat(d) ? d->window.y[0] : 1); }

static int64_t lines(const dp_conv_division *d) { return is_flat(d) ? 1 : d->window.y[0]; }

// Lines of a tile, and tiles of a line.
static int64_t lines_at_once(const dp_conv_division *d) { return lines(d) > 1 && 2 * line_windows(d) <= MOST ? 2 : 1; }

static int64_t tiles_of_line(const dp_conv_division *d) { return divide_up(line_windows(d), MOST); }

dp_conv_piece dp_conv_division_tile(const dp_conv_division *d, int64_t tile) {
  const int64_t across = tiles_of_line(d), at_once = lines_at_once(d), line = tile / across * at_once;
  int64_t first, end;
  dp_part_range(line_windows(d), (int)(tile % across), (int)across, &first, &end);
  return (dp_conv_piece){line * line_windows(d) + first, dp_min_i64(at_once, lines(d) - line), end - first};
}

// ---- parts ----------------------------------------------------------------------------------------------------------

dp_conv_part dp_conv_division_part(const dp_conv_division *d, int part) {
  dp_conv_part p = {.tile_end = d->n_tiles, .pair_end = d->pairs};
  if (d->by_tiles)
    dp_part_range(d->n_tiles, part, d->parts, &p.tile, &p.tile_end);
  else
    dp_part_range(d->pairs, part, d->parts, &p.pair, &p.pair_end);
  if (p.tile == p.tile_end || p.pair == p.pair_end) return (dp_conv_part){0};
  const dp_conv_piece last = dp_conv_division_tile(d, p.tile_end - 1);
  p.line = dp_conv_division_tile(d, p.tile).first / d->window.y[1];
  p.line_end = divide_up(last.first + last.lines * last.windows, d->window.y[1]);
  return p;
}

// Images are divided where they are larger than weights, but not if that makes the largest part much larger.
static bool divides_tiles(const dp_conv_division *d) {
  const int64_t x = d->window.x[0] * d->window.x[1] * d->x_channels, w = d->n_taps * d->x_channels * d->y_channels;
  const double of_tiles = (double)(divide_up(d->n_tiles, d->parts) * d->pairs),
               of_pairs = (double)(divide_up(d->pairs, d->parts) * d->n_tiles), much = 1.06;
  return x > w ? of_tiles <= much * of_pairs : much * of_tiles < of_pairs;
}

dp_status dp_conv_division_make(const dp_kernel_spec *spec, dp_conv_division *division) {
  const dp_local *x = &spec->inputs[0].local, *w = &spec->inputs[1].local;
  dp_conv_division d = {.samples = x->extents[0],
                        .x_channels = x->extents[1],
                        .y_channels = w->extents[0],
                        .x_blocks = x->extents[1] / BLOCK,
                        .pairs = divide_up(w->extents[0], 2 * BLOCK),
                        .parts = spec->threads};
  dp_geometry *g = &d.window;
  DP_TRY(dp_geometry_make(spec->node, 2, x->extents + 2, w->extents + 2, g));
  d.n_taps = g->kernel[0] * g->kernel[1];
  for (int i = 0; i < 2; i++) {
    const int64_t span = (g->kernel[i] - 1) * g->dilation[i];
    d.reach[i] = span / g->stride[i];
    d.phases[i] = dp_min_i64(g->stride[i], span + 1);
    d.copied |= g->stride[i] > 1 || g->pad_begin[i] || g->pad_end[i];
  }
  d.n_tiles = divide_up(lines(&d), lines_at_once(&d)) * tiles_of_line(&d);
  d.by_tiles = divides_tiles(&d);
  d.columns = d.copied ? g->y[1] + d.reach[1] : g->x[1];
  d.rows = d.copied ? 0 : g->x[0];
  for (int i = 0; d.copied && i < d.parts; i++) {
    const dp_conv_part part = dp_conv_division_part(&d, i);
    d.rows = dp_max_i64(d.rows, part.line_end - part.line + d.reach[0]);
  }
  *division = d;
  return DP_OK;
}

int64_t dp_conv_division_plane(const dp_conv_division *d) {
  return (d->copied ? d->phases[0] * d->phases[1] : 1) * d->rows * d->columns * BLOCK;
}

int64_t dp_conv_division_weights(const dp_conv_division *d) { return d->x_channels * d->n_taps * 2 * BLOCK; }

int64_t dp_conv_division_copy(const dp_conv_division *d, bool whole) {
  const int64_t rows = whole ? d->window.y[0] + d->reach[0] : d->rows;
  return d->copied ? d->x_channels * d->phases[0] * d->phases[1] * rows * d->columns : 0;
}

// ---- elements of x --------------------------------------------------------------------------------------------------

int64_t dp_conv_division_tap(const dp_conv_division *d, int64_t tap) {
  const dp_geometry *g = &d->window;
  const int64_t row = tap / g->kernel[1] * g->dilation[0], column = tap % g->kernel[1] * g->dilation[1];
  const int64_t phase = row % g->stride[0] * d->phases[1] + column % g->stride[1];
  return ((phase * d->rows + row / g->stride[0]) * d->columns + column / g->stride[1]) * BLOCK;
}

// Row `row` of a phase of columns from one of x, which is NULL where it lies beyond. phase: of columns.
static void take_row(const dp_conv_division *d, int64_t phase, const float *x, float *to) {
  const dp_geometry *g = &d->window;
  const int64_t stride = g->stride[1], skipped = phase - g->pad_begin[1];
  int64_t first = dp_min_i64(d->columns, skipped < 0 ? divide_up(-skipped, stride) : 0), end = first;
  if (x && g->x[1] > skipped) end = dp_max_i64(first, dp_min_i64(d->columns, divide_up(g->x[1] - skipped, stride)));
  memset(to, 0, (size_t)(first * BLOCK) * sizeof *to);
  if (end > first)
    dp_vector_conv_avx512.copy(end - first, x + (first * stride + skipped) * BLOCK, stride * BLOCK, to + first * BLOCK);
  memset(to + end * BLOCK, 0, (size_t)((d->columns - end) * BLOCK) * sizeof *to);
}

void dp_conv_division_take(const dp_conv_division *d, const dp_conv_part *part, const float *x, float *to) {
  const dp_geometry *g = &d->window;
  const int64_t line = g->x[1] * BLOCK;
  for (int64_t c = 0; c < d->x_blocks; c++, x += g->x[0] * line)
    for (int64_t p = 0; p < d->phases[0] * d->phases[1]; p++)
      for (int64_t r = 0; r < d->rows; r++, to += d->columns * BLOCK) {
        const int64_t row = (part->line + r) * g->stride[0] + p / d->phases[1] - g->pad_begin[0];
        take_row(d, p % d->phases[1], row >= 0 && row < g->x[0] ? x + row * line : NULL, to);
      }
}
