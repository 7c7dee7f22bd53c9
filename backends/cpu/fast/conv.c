// Conv of float32 images in blocks of 16 channels (DP_LAYOUT_NCHW16C), by tiles of windows whose sums stay in registers
// (backends/cpu/vector/conv_tile.h).
//
// Weights are packed in the order in which tiles read them, or lie so (DP_LAYOUT_OIHW16I32O). The tiles of a group are
// computed for some blocks of x before the next ones: all of them but the first find these blocks' weights in the
// cache, and bring the next ones there. So weights are read once where planes are small, as in a network's last layers,
// which have most of them.
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/fast/conv_division.h"
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/reference/reference.h"

enum { BLOCK = DP_CONV_BLOCK };
// Windows of a group, whose sums the first cache holds; blocks of x that are added up at a time where there is one tap.
enum { GROUP = 224, CHUNK = 12 };
// Of a tile: the sums of fewer ones wait for each other.
enum { FEWEST_WINDOWS = 6 };
// Of a plane, of a window, of an image; and how many times the images' elements a copy may have.
enum { MOST_ELEMENTS = 1 << 24, MOST_TAPS = 1 << 12, MOST_CHANNELS = 1 << 20, MOST_COPIED = 16 };

// A tile as it is computed: what computes it, and where it lies in x, from its first line on, and in a block of y.
typedef struct {
  dp_vector_conv_tile compute;
  int64_t x, y;
} ready_tile;

typedef struct {
  dp_conv_division division;
  ready_tile *tiles;
  int64_t chunk;  // the most blocks of x that are added up at a time
  int64_t *taps;  // of so many blocks
} conv_state;

// Whether its planes are whole and have elements. Channels may be split, and a device may have none.
static bool has_planes(const dp_local *local) {
  for (int d = 2; d < local->rank; d++)
    if (local->shards[d] > 1 || local->symbolic >> d & 1 || !local->extents[d]) return false;
  return true;
}

static bool lies_well(const dp_kernel_operand *image) {
  return image->layout == DP_LAYOUT_NCHW16C && image->dtype == DP_FLOAT32 && has_planes(&image->local);
}

// Whether all sizes that follow from the extents can be counted, whatever the number of threads.
static bool is_moderate(const dp_kernel_spec *spec) {
  const dp_kernel_operand *operands[] = {&spec->inputs[0], &spec->inputs[1], &spec->outputs[0]};
  for (size_t i = 0; i < DP_COUNT(operands); i++) {
    const int64_t *extents = operands[i]->local.extents, most = i == 1 ? MOST_TAPS : MOST_ELEMENTS;
    if (extents[1] > MOST_CHANNELS || extents[2] > most || extents[3] > most || extents[2] * extents[3] > most)
      return false;
  }
  return true;
}

// Whether the copy of a block of x is not far larger than the images are: wide strides and dilations make many phases.
static bool copies_little(const dp_conv_division *d) {
  const double phases = (double)d->phases[0] * (double)d->phases[1],
               copy = phases * (double)(d->window.y[0] + d->reach[0]) * (double)d->columns;
  return !d->copied ||
         copy <= MOST_COPIED * (double)(d->window.x[0] * d->window.x[1] + d->window.y[0] * d->window.y[1]);
}

static bool is_in_order(const dp_kernel_spec *spec) {
  return spec->packed || spec->inputs[1].layout == DP_LAYOUT_OIHW16I32O;
}

static bool match(const dp_kernel_spec *spec) {
  const dp_kernel_operand *w = &spec->inputs[1];
  dp_conv_division d;
  if (!dp_isa_is_avx512(spec->isa) || !lies_well(&spec->inputs[0]) || !lies_well(&spec->outputs[0]) ||
      (w->layout != DP_LAYOUT_PLAIN && w->layout != DP_LAYOUT_OIHW16I32O) || !has_planes(&w->local) ||
      dp_node_int(spec->node, "group", 1) != 1 || !is_moderate(spec))
    return false;
  dp_status status = dp_conv_division_make(spec, &d);
  const dp_conv_piece first = status ? (dp_conv_piece){0} : dp_conv_division_tile(&d, 0);
  dp_status_free(status);
  return first.lines * first.windows >= FEWEST_WINDOWS && copies_little(&d);
}

// ---- sizes ----------------------------------------------------------------------------------------------------------

// Where shards have different numbers of channels, they may be divided into parts in different ways.
static bool is_uneven(const dp_local *local, int dim) { return local->k[dim] % local->shards[dim] != 0; }

// Of a part, in floats: the copy of x, the weights of a pair unless all are packed, a block of y that nobody reads.
static int64_t part_floats(const dp_kernel_spec *spec, const dp_conv_division *d) {
  const bool uneven = is_uneven(&spec->inputs[0].local, 1) || is_uneven(&spec->inputs[1].local, 0);
  return dp_conv_division_copy(d, uneven) + (is_in_order(spec) ? 0 : dp_conv_division_weights(d)) +
         (uneven || d->y_channels % (2 * BLOCK) ? DP_CONV_TILE_MOST * BLOCK : 0);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  dp_conv_division d;
  dp_status status = dp_conv_division_make(spec, &d);  // which prepare reports
  const int64_t floats = status || !d.samples || !d.pairs ? 0 : d.parts * part_floats(spec, &d);
  dp_status_free(status);
  return (uint64_t)floats * sizeof(float);
}

// ---- weights --------------------------------------------------------------------------------------------------------

// Those of one pair: (x_blocks, taps, block of x, two blocks of y); zeros for channels that y does not have.
static void pack_pair(const dp_conv_division *d, const float *w, int64_t pair, float *to) {
  const int64_t all = d->x_channels * d->n_taps, first = pair * 2 * BLOCK;
  for (int64_t m = 0; m < 2 * BLOCK; m++)
    for (int64_t c = 0; c < d->x_channels; c++)
      for (int64_t tap = 0; tap < d->n_taps; tap++) {
        const int64_t at = (c / BLOCK * d->n_taps + tap) * BLOCK + c % BLOCK;
        to[at * 2 * BLOCK + m] = first + m < d->y_channels ? w[(first + m) * all + c * d->n_taps + tap] : 0;
      }
}

static uint64_t packed_bytes(const dp_kernel_spec *spec) {
  dp_conv_division d;
  dp_status status = dp_conv_division_make(spec, &d);
  const int64_t floats = status ? 0 : d.pairs * dp_conv_division_weights(&d);
  dp_status_free(status);
  return (uint64_t)floats * sizeof(float);
}

static dp_status pack(const dp_kernel_spec *spec, void *state, const void *plain, void *packed, void *scratch) {
  (void)spec, (void)scratch;
  const dp_conv_division *d = &((const conv_state *)state)->division;
  for (int64_t pair = 0; pair < d->pairs; pair++)
    pack_pair(d, plain, pair, (float *)packed + pair * dp_conv_division_weights(d));
  return DP_OK;
}

// ---- load and run ---------------------------------------------------------------------------------------------------

static void release(void *state) {
  conv_state *s = state;
  if (!s) return;
  free(s->tiles);
  free(s->taps);
  free(s);
}

static void make_tiles(conv_state *s) {
  const dp_vector_conv *vector = &dp_vector_conv_avx512;
  const dp_conv_division *d = &s->division;
  for (int64_t i = 0; i < d->n_tiles; i++) {
    const dp_conv_piece tile = dp_conv_division_tile(d, i);
    const int64_t line = tile.first / d->window.y[1], column = tile.first % d->window.y[1];
    s->tiles[i] = (ready_tile){(tile.lines == 2 ? vector->on_two : vector->on_line)[tile.windows],
                               (line * d->columns + column) * BLOCK, tile.first * BLOCK};
  }
}

static void make_taps(conv_state *s) {
  const dp_conv_division *d = &s->division;
  for (int64_t i = 0; i < s->chunk * d->n_taps; i++)
    s->taps[i] = i / d->n_taps * dp_conv_division_plane(d) + dp_conv_division_tap(d, i % d->n_taps);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  dp_conv_division d;
  if (!dp_isa_is_avx512(spec->isa)) return dp_fail(EX_UNAVAILABLE, "this machine has no AVX-512, which Conv needs");
  DP_TRY(dp_conv_division_make(spec, &d));
  const int64_t most = d.n_taps > 1 ? 1 : CHUNK;
  const int64_t chunks = dp_max_i64(1, (d.x_blocks + most - 1) / most);
  conv_state *s = calloc(1, sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "out of memory for a convolution");
  s->division = d;
  s->chunk = dp_max_i64(1, (d.x_blocks + chunks - 1) / chunks);
  s->tiles = calloc((size_t)d.n_tiles, sizeof *s->tiles);
  s->taps = calloc((size_t)(s->chunk * d.n_taps), sizeof *s->taps);
  if (!s->tiles || !s->taps) {
    release(s);
    return dp_fail(DP_EX_MEMORY, "out of memory for a convolution");
  }
  make_tiles(s);
  make_taps(s);
  *state = s;
  return DP_OK;
}

// What a part computes with, of one sample and pair.
typedef struct {
  const conv_state *state;
  const dp_conv_part *part;
  const float *x;         // as windows read it
  int64_t skipped;        // floats of lines before the part's that are not there
  const float *w, *bias;  // of the pair
  float *y[2];            // its blocks
  bool half;              // the second one is there for what nobody reads: each tile's lies at its beginning
} pair_work;

// Tiles [tile, end) of a pair, some blocks of x after the others. next: the weights that are read behind these.
static void compute_group(const pair_work *work, int64_t tile, int64_t end, const float *next) {
  const conv_state *s = work->state;
  const dp_conv_division *d = &s->division;
  const int64_t plane = dp_conv_division_plane(d), weights = d->n_taps * BLOCK * 2 * BLOCK;
  for (int64_t c = 0; c == 0 || c < d->x_blocks; c += s->chunk) {
    const int64_t blocks = dp_min_i64(s->chunk, d->x_blocks - c);
    const bool last = c + blocks >= d->x_blocks;
    dp_conv_tile t = {.line = d->columns * BLOCK,
                      .taps = s->taps,
                      .n_taps = blocks * d->n_taps,
                      .w = work->w + c * weights,
                      .add = c > 0,
                      .bias = work->bias,
                      .next = last ? next : work->w + (c + blocks) * weights,
                      .next_distance = (2 * BLOCK + end - tile - 1) / (end - tile)};
    const float *x = work->x + c * plane;
    for (const ready_tile *r = s->tiles + tile; r < s->tiles + end; r++) {
      t.x = x + (r->x - work->skipped);
      t.y[0] = work->y[0] + r->y;
      t.y[1] = work->y[1] + (work->half ? 0 : r->y);
      r->compute(&t);
      t.next += t.n_taps * BLOCK * t.next_distance;
    }
  }
}

static void compute_pair(const pair_work *work, const float *next) {
  const dp_conv_part *p = work->part;
  const dp_conv_piece first = dp_conv_division_tile(&work->state->division, p->tile);
  const int64_t n = p->tile_end - p->tile, groups = (n * first.lines * first.windows + GROUP - 1) / GROUP;
  for (int64_t g = 0; g < groups; g++) {
    int64_t tile, end;
    dp_part_range(n, (int)g, (int)groups, &tile, &end);
    compute_group(work, p->tile + tile, p->tile + end, g + 1 < groups ? work->w : next);
  }
}

static void compute_part(const dp_kernel_spec *spec, const conv_state *s, const void *const *in, float *y,
                         float *scratch, int number) {
  const dp_conv_division *d = &s->division;
  const dp_conv_part part = dp_conv_division_part(d, number);
  const int64_t weights = dp_conv_division_weights(d);
  const int64_t x_plane = d->window.x[0] * d->window.x[1], y_plane = d->window.y[0] * d->window.y[1];
  const bool in_order = is_in_order(spec);
  const float *w = in[1], *bias = spec->n_inputs > 2 ? in[2] : NULL;
  float *copy = scratch, *own = copy + dp_conv_division_copy(d, false), *spare = own + (in_order ? 0 : weights);
  float last_bias[2 * BLOCK] = {0};
  for (int64_t n = 0; n < d->samples && part.pair < part.pair_end; n++) {
    const float *x = (const float *)in[0] + n * x_plane * d->x_channels;
    if (d->copied) dp_conv_division_take(d, &part, x, copy);
    for (int64_t pair = part.pair; pair < part.pair_end; pair++) {
      const bool half = (pair + 1) * 2 * BLOCK > d->y_channels;
      float *to = y + (n * d->y_channels + pair * 2 * BLOCK) * y_plane;
      if (!in_order) pack_pair(d, w, pair, own);
      if (half && bias) memcpy(last_bias, bias + pair * 2 * BLOCK, BLOCK * sizeof *bias);
      const pair_work work = {.state = s,
                              .part = &part,
                              .x = d->copied ? copy : x,
                              .skipped = d->copied ? part.line * d->columns * BLOCK : 0,
                              .w = in_order ? w + pair * weights : own,
                              .bias = !bias  ? NULL
                                      : half ? last_bias
                                             : bias + pair * 2 * BLOCK,
                              .y = {to, half ? spare : to + BLOCK * y_plane},
                              .half = half};
      compute_pair(&work, pair + 1 < part.pair_end && in_order ? work.w + weights : work.w);
    }
  }
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const conv_state *s = state;
  const int64_t floats = part_floats(spec, &s->division);
  for (int i = part; i < s->division.parts; i += parts)
    compute_part(spec, s, in, out[0], (float *)scratch + i * floats, i);
  return DP_OK;
}

const dp_kernel dp_kernel_fast_blocked_Conv = {
    .name = "cpu.fast_blocked.Conv",
    .op = "Conv",
    .domain = "",
    .priority = 11,
    .library = true,
    .blocked = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = release,
    .packs = 1,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .lays = DP_LAYOUT_OIHW16I32O,
    .parts = true,
    .isa = true,
    .shares_state = true,
    .run = run,
};
