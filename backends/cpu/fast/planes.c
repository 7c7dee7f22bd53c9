// See planes.h.
#include "backends/cpu/fast/planes.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/primitive.h"
#include "backends/cpu/onednn/sgemm_code.h"
#include "backends/cpu/onednn/table.h"
#include "backends/cpu/reference/window.h"

// With fewer channels nothing is gained. Each part copies all images that it reads: more than MOST_PARTS would copy
// more than they compute.
enum { FEWEST_CHANNELS = 64, MOST_WINDOWS = 256, MOST_ELEMENTS = 4096, MOST_TAPS = 128, MOST_PARTS = 8 };
// Floats of images that are copied at a time, and of one channel of x, but at least so many samples.
enum { CHUNK = 1 << 20, CHANNEL = 1 << 16, FEWEST_SAMPLES = 8 };
// More weights are divided over the parts, by channels; fewer each part copies.
enum { SMALL = 1 << 18 };
enum { PADDING = 16 };

int64_t dp_planes_pitch(int64_t plane, int64_t samples) { return plane * samples + PADDING; }

int64_t dp_planes_row(int64_t columns) { return columns + PADDING; }

// ---- what is computed so --------------------------------------------------------------------------------------------

// Share of the taps of all windows that lie inside x.
static double inside(const dp_window *w) {
  double share = 1;
  for (int d = 0; d < 3; d++) {
    int64_t connected = 0, lo, hi;
    for (int64_t t = 0; t < w->kernel[d]; t++) {
      dp_window_range(w, d, t, &lo, &hi);
      connected += dp_max_i64(0, hi - lo);
    }
    share *= (double)connected / (double)(w->kernel[d] * w->y[d]);
  }
  return share;
}

// Whether other kernels take longer, as measured on an EPYC with AVX2 (Zen 3) and on a Xeon with AVX-512. Those are
// dp.ConvGradWeight by taps, which computes none in padding but loses by strides with AVX2 alone, and oneDNN, which
// computes all.
static bool gains(const dp_kernel_spec *spec, const dp_planes_roles *roles, const dp_window *w) {
  const bool strided = w->stride[2] > 1;
  if (dp_isa_is_avx512(spec->isa)) return !roles->sums && inside(w) <= (roles->backwards && strided ? 0.87 : 0.75);
  return (roles->sums && strided) || inside(w) <= 0.87;
}

bool dp_planes_match(const dp_kernel_spec *spec, const dp_planes_roles *roles) {
  const dp_local *x = roles->x;
  if (spec->inputs[0].dtype != DP_FLOAT32 || spec->winograd || spec->threads > MOST_PARTS || x->rank < 3 ||
      x->rank > 2 + 3 || (x->symbolic & ~1u) || dp_node_int(spec->node, "group", 1) != 1 ||
      x->whole[1] < FEWEST_CHANNELS || roles->w->whole[0] < FEWEST_CHANNELS)
    return false;
  for (int d = 2; d < x->rank; d++)
    if (x->shards[d] > 1) return false;
  dp_conv conv;
  dp_status status = dp_conv_make(spec, x, roles->w, &conv);
  const dp_window *w = &conv.window;
  const bool fits = !status && w->y_plane > 0 && w->y_plane <= MOST_WINDOWS && w->kernel_plane <= MOST_TAPS &&
                    w->x_plane <= MOST_ELEMENTS && gains(spec, roles, w);
  dp_status_free(status);
  return fits;
}

// ---- sizes ----------------------------------------------------------------------------------------------------------

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Floats of the copies of so many samples, each of `channels` planes.
static int64_t copies(int64_t samples, int64_t channels, int64_t plane) {
  const int64_t each = channels * plane, least = dp_min_i64(samples, FEWEST_SAMPLES) * each;
  return dp_min_i64(samples * each, dp_max_i64(least, CHUNK)) + channels * PADDING;
}

// Those of a part's images; divided: of which it may copy a share of the channels.
static int64_t images_room(const dp_planes *p, int64_t channels, int64_t plane, bool divided) {
  const int64_t samples = p->conv.samples, share = divided ? divide_up(channels, p->parts) : channels;
  return dp_max_i64(copies(samples, share, plane), copies(divide_up(samples, p->parts), channels, plane));
}

static dp_status describe(const dp_kernel_spec *spec, const dp_planes_roles *roles, dp_planes *made) {
  dp_planes p = {.parts = spec->threads, .backwards = roles->backwards};
  DP_TRY(dp_conv_make(spec, roles->x, roles->w, &p.conv));
  const dp_conv *c = &p.conv;
  const dp_window *w = &c->window;
  const int64_t divided = roles->backwards ? c->x_channels : c->y_channels,
                other = roles->backwards ? c->y_channels : c->x_channels, taps = w->kernel_plane,
                sample = dp_max_i64(1, c->x_channels * w->x_plane + c->y_channels * w->y_plane);
  p.by_samples = !roles->sums && divided * other <= SMALL / taps;
  const int64_t most = dp_min_i64(c->samples, dp_max_i64(FEWEST_SAMPLES, CHANNEL / dp_max_i64(1, w->x_plane)));
  p.chunk = dp_min_i64(most, dp_max_i64(FEWEST_SAMPLES, CHUNK / sample / FEWEST_SAMPLES * FEWEST_SAMPLES));
  // No less with more channels, which may be divided otherwise.
  p.room.x = images_room(&p, c->x_channels, w->x_plane, roles->backwards);
  p.room.y = images_room(&p, c->y_channels, w->y_plane, !roles->backwards);
  p.room.ordered = w->stride[2] > 1 ? w->x_plane * most : 0;
  p.room.w = taps * (dp_max_i64(divide_up(divided, p.parts) * other, dp_min_i64(divided * other, SMALL / taps)) +
                     PADDING * c->y_channels);
  *made = p;
  return DP_OK;
}

static uint64_t bytes_of_part(const dp_planes *p) {
  return dp_align_up((uint64_t)(p->room.x + p->room.y + p->room.w + p->room.ordered) * sizeof(float), DP_CPU_ALIGNMENT);
}

uint64_t dp_planes_scratch_bytes(const dp_kernel_spec *spec, const dp_planes_roles *roles) {
  dp_planes p;
  dp_status status = describe(spec, roles, &p);  // which prepare reports
  const uint64_t bytes = status ? 0 : bytes_of_part(&p);
  dp_status_free(status);
  return bytes * (uint64_t)spec->threads;
}

float *dp_planes_scratch(const dp_planes *p, void *scratch, int part) {
  return (float *)((char *)scratch + (uint64_t)part * bytes_of_part(p));
}

dp_planes_part dp_planes_part_of(const dp_planes *p, int part) {
  int64_t end = p->backwards ? p->conv.x_channels : p->conv.y_channels;
  dp_planes_part made = {.sample_end = p->conv.samples};
  if (p->by_samples)
    dp_part_range(p->conv.samples, part, p->parts, &made.sample, &made.sample_end);
  else
    dp_part_range(end, part, p->parts, &made.channel, &end);
  made.channels = end - made.channel;
  return made;
}

// ---- load -----------------------------------------------------------------------------------------------------------

// Where an element of x's plane lies in copies: those of a row that a stride leads from one to the next lie together.
static int64_t place_of(const dp_window *w, int64_t element) {
  const int64_t width = w->x[2], stride = w->stride[2], column = element % width, phase = column % stride;
  int64_t before = 0;
  for (int64_t p = 0; p < phase; p++) before += divide_up(width - p, stride);
  return element - column + before + column / stride;
}

// Adds a run, to the one before if it goes on where that ends.
static void add_run(dp_planes *p, dp_planes_run run) {
  dp_planes_run *last = p->n_runs ? &p->runs[p->n_runs - 1] : NULL;
  if (last && last->tap == run.tap && last->x + last->count == run.x && last->y + last->count == run.y)
    last->count += run.count;
  else
    p->runs[p->n_runs++] = run;
}

dp_status dp_planes_prepare(const dp_kernel_spec *spec, const dp_planes_roles *roles, void **state) {
  static const dp_vector_transpose avx2 = dp_vector_transpose_avx2, avx512 = dp_vector_transpose_avx512;
  void *of_isa;
  dp_planes planes;
  DP_TRY(dp_isa_table(spec, &avx2, &avx512, &of_isa));
  DP_TRY(dp_sgemm_code_prepare());
  DP_TRY(describe(spec, roles, &planes));
  const dp_window *w = &planes.conv.window;
  planes.transpose = *(const dp_vector_transpose *)of_isa;
  planes.runs = calloc((size_t)(w->kernel_plane * w->y[0] * w->y[1]) + 1, sizeof *planes.runs);
  planes.places = calloc((size_t)w->x_plane + 1, sizeof *planes.places);
  dp_planes *made = malloc(sizeof *made);
  if (!made || !planes.runs || !planes.places) {
    free(planes.runs);
    free(planes.places);
    free(made);
    return dp_fail(DP_EX_MEMORY, "out of memory");
  }
  for (int64_t e = 0; e < w->x_plane; e++) planes.places[e] = place_of(w, e);
  for (int64_t tap = 0; tap < w->kernel_plane; tap++) {
    dp_window_runs r = dp_window_runs_of(w, tap);
    while (dp_window_next(&r)) add_run(&planes, (dp_planes_run){tap, planes.places[r.x], r.y, r.count});
  }
  *made = planes;
  *state = made;
  return DP_OK;
}

void dp_planes_release(void *state) {
  dp_planes *p = state;
  if (!p) return;
  free(p->runs);
  free(p->places);
  free(p);
}

dp_planes_images dp_planes_x(const dp_planes *p, float *scratch) {
  const dp_conv *c = &p->conv;
  float *room = p->room.ordered ? scratch + p->room.x + p->room.y + p->room.w : NULL;
  return (dp_planes_images){.all = c->x_channels, .channels = c->x_channels, .plane = c->window.x_plane, .room = room};
}

dp_planes_images dp_planes_y(const dp_planes *p) {
  const dp_conv *c = &p->conv;
  return (dp_planes_images){.all = c->y_channels, .channels = c->y_channels, .plane = c->window.y_plane};
}

// ---- copies ---------------------------------------------------------------------------------------------------------

// The rows of a channel, `samples` floats each, to their places in copies of x, or back.
static void order(const dp_planes *p, int64_t samples, bool back, const float *from, float *to) {
  for (int64_t e = 0; e < p->conv.window.x_plane; e++) {
    const int64_t place = p->places[e];
    memcpy(to + (back ? e : place) * samples, from + (back ? place : e) * samples, (size_t)samples * sizeof *to);
  }
}

void dp_planes_take(const dp_planes *p, const dp_planes_images *i, const float *from, float *to) {
  const int64_t pitch = dp_planes_pitch(i->plane, i->samples);
  for (int64_t c = 0; c < i->channels; c++) {
    float *plane = i->room ? i->room : to + c * pitch;
    p->transpose(i->samples, i->plane, from + c * i->plane, i->all * i->plane, plane, i->samples);
    if (i->room) order(p, i->samples, false, plane, to + c * pitch);
  }
}

void dp_planes_give(const dp_planes *p, const dp_planes_images *i, const float *from, float *to) {
  const int64_t pitch = dp_planes_pitch(i->plane, i->samples);
  for (int64_t c = 0; c < i->channels; c++) {
    const float *plane = i->room ? i->room : from + c * pitch;
    if (i->room) order(p, i->samples, true, from + c * pitch, i->room);
    p->transpose(i->plane, i->samples, plane, i->samples, to + c * i->plane, i->all * i->plane);
  }
}

// Rows of w (rows, row, taps), `columns` of each, to (taps, rows, columns).
static void take_weights(const dp_planes *p, const float *w, int64_t rows, int64_t row, int64_t columns, float *to) {
  const int64_t taps = p->conv.window.kernel_plane, pitch = dp_planes_row(columns);
  for (int64_t r = 0; r < rows; r++)
    p->transpose(columns, taps, w + r * row * taps, taps, to + r * pitch, rows * pitch);
}

// ---- Conv, ConvGradInput --------------------------------------------------------------------------------------------

// The planes of the result, before any tap is added.
static void fill(const dp_planes_images *result, const float *bias, float *to) {
  const int64_t pitch = dp_planes_pitch(result->plane, result->samples);
  for (int64_t c = 0; c < result->channels; c++)
    for (int64_t i = 0; i < pitch; i++) to[c * pitch + i] = bias ? bias[c] : 0;
}

static dp_status add_taps(const dp_planes *p, const dp_planes_images *from, const float *images, const float *w,
                          const dp_planes_images *result, float *sums) {
  const int64_t from_pitch = dp_planes_pitch(from->plane, from->samples),
                pitch = dp_planes_pitch(result->plane, result->samples), n = from->samples,
                row = dp_planes_row(p->backwards ? result->channels : from->channels),
                of_tap = row * (p->backwards ? from->channels : result->channels);
  for (const dp_planes_run *r = p->runs; r < p->runs + p->n_runs; r++) {
    const int64_t at = p->backwards ? r->y : r->x, to = p->backwards ? r->x : r->y;
    DP_TRY(dp_primitive_sgemm(p->backwards, false, result->channels, r->count * n, from->channels, 1,
                              w + r->tap * of_tap, row, images + at * n, from_pitch, 1, sums + to * n, pitch, 1));
  }
  return DP_OK;
}

dp_status dp_planes_apply(const dp_planes *p, const float *images, const float *w, const float *bias, float *result,
                          void *scratch, int part) {
  const dp_conv *c = &p->conv;
  const dp_planes_part mine = dp_planes_part_of(p, part);
  if (mine.sample == mine.sample_end || !mine.channels) return DP_OK;
  float *room = dp_planes_scratch(p, scratch, part);
  dp_planes_images x = dp_planes_x(p, room), y = dp_planes_y(p), *from = p->backwards ? &y : &x,
                   *to = p->backwards ? &x : &y;
  to->channels = mine.channels;
  float *taken = room, *sums = taken + (p->backwards ? p->room.y : p->room.x), *weights = taken + p->room.x + p->room.y;
  if (from->channels)
    take_weights(p, w + mine.channel * c->window.kernel_plane * (p->backwards ? 1 : c->x_channels), y.channels,
                 c->x_channels, x.channels, weights);
  for (int64_t at = mine.sample; at < mine.sample_end; at += p->chunk) {
    from->samples = to->samples = dp_min_i64(p->chunk, mine.sample_end - at);
    dp_planes_take(p, from, images + at * from->all * from->plane, taken);
    fill(to, bias ? bias + mine.channel : NULL, sums);
    if (from->channels) DP_TRY(add_taps(p, from, taken, weights, to, sums));
    dp_planes_give(p, to, sums, result + (at * to->all + mine.channel) * to->plane);
  }
  return DP_OK;
}
