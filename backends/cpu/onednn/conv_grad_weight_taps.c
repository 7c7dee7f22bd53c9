// dp.ConvGradWeight(x, dy) of small planes and many channels: a product of matrices for each tap of the kernel,
//
//   dw[:, :, tap] = dy' x,  over the samples and windows whose tap lies inside x,
//
// where x and dy are stored channels last. oneDNN's own kernels compute along rows of a plane and take twice the time
// where there are few.
#include <string.h>

#include "backends/base/conv_extents.h"
#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/primitive.h"
#include "backends/cpu/onednn/table.h"
#include "backends/cpu/reference/window.h"
#include "backends/cpu/vector/transpose.h"
#include "ir/kernel/kernel.h"

// Measured: the fewer windows and the more channels, the more is gained; beyond these, nothing.
enum { MOST_WINDOWS = 256, FEWEST_CHANNELS = 128 };
// Windows that are multiplied at a time, of one sample or more; and the padding of their rows, in floats: rows that are
// a power of two apart push each other out of the cache.
enum { WINDOWS = 1024, PADDING = 16 };

static bool match(const dp_kernel_spec *spec) {
  const dp_local *x = &spec->inputs[0].local, *dy = &spec->inputs[1].local;
  if (spec->inputs[0].dtype != DP_FLOAT32 || x->rank < 3 || x->rank > 2 + 3 || (x->symbolic & ~1u)) return false;
  int64_t windows = 1;
  for (int d = 2; d < x->rank; d++) {
    if (x->shards[d] > 1) return false;
    windows *= dy->whole[d];
  }
  return dp_node_int(spec->node, "group", 1) == 1 && windows <= MOST_WINDOWS && x->whole[1] >= FEWEST_CHANNELS &&
         dy->whole[1] >= FEWEST_CHANNELS;
}

// What lies in scratch, in floats.
typedef struct {
  int64_t samples;         // that are multiplied at a time
  int64_t x_row, y_row;    // of a row of the windows of a tap, with padding
  int64_t x, dy;           // channels last: (samples, plane, channels)
  int64_t x_rows, y_rows;  // of the windows of a tap
  int64_t taps;            // (taps, y channels, x channels)
} layout;

static layout lay_out(const dp_conv *conv, int64_t *floats) {
  const dp_window *w = &conv->window;
  layout l = {.samples = dp_min_i64(conv->samples, dp_max_i64(1, WINDOWS / dp_max_i64(1, w->y_plane))),
              .x_row = conv->x_channels + PADDING,
              .y_row = conv->y_channels + PADDING};
  const int64_t windows = l.samples * w->y_plane;
  l.dy = l.x + l.samples * w->x_plane * conv->x_channels;
  l.x_rows = l.dy + windows * conv->y_channels;
  l.y_rows = l.x_rows + windows * l.x_row;
  l.taps = l.y_rows + windows * l.y_row;
  *floats = l.taps + w->kernel_plane * conv->x_channels * conv->y_channels;
  return l;
}

static dp_status conv_of(const dp_kernel_spec *spec, dp_conv *conv) {
  return dp_conv_make(spec, &spec->inputs[0].local, &spec->outputs[0].local, conv);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  dp_conv conv;
  int64_t floats = 0;
  dp_status status = conv_of(spec, &conv);  // which run reports
  if (!status) lay_out(&conv, &floats);
  dp_status_free(status);
  return dp_align_up((uint64_t)floats * sizeof(float), DP_CPU_ALIGNMENT);
}

static const dp_vector_transpose avx2 = dp_vector_transpose_avx2, avx512 = dp_vector_transpose_avx512;

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  DP_TRY(dp_isa_table(spec, &avx2, &avx512, state));
  return dp_primitive_sgemm_prepare();
}

// Copies the rows of both operands for the windows whose tap lies inside x; returns their number.
static int64_t gather(const dp_conv *conv, const layout *l, int64_t tap, int64_t samples, float *room) {
  const dp_window *w = &conv->window;
  const size_t x_bytes = (size_t)conv->x_channels * sizeof(float), y_bytes = (size_t)conv->y_channels * sizeof(float);
  int64_t count = 0;
  for (int64_t n = 0; n < samples; n++) {
    dp_window_runs r = dp_window_runs_of(w, tap);
    while (dp_window_next(&r))
      for (int64_t i = 0; i < r.count; i++, count++) {
        const int64_t from_x = n * w->x_plane + r.x + i * w->stride[2], from_y = n * w->y_plane + r.y + i;
        memcpy(room + l->x_rows + count * l->x_row, room + l->x + from_x * conv->x_channels, x_bytes);
        memcpy(room + l->y_rows + count * l->y_row, room + l->dy + from_y * conv->y_channels, y_bytes);
      }
  }
  return count;
}

// Adds the products of `samples` samples to the taps, which the first ones write.
static dp_status multiply(const dp_conv *conv, const layout *l, int64_t samples, bool first, float *room, int threads) {
  const int64_t m = conv->y_channels, c = conv->x_channels;
  for (int64_t tap = 0; tap < conv->window.kernel_plane; tap++) {
    float *to = room + l->taps + tap * m * c;
    const int64_t rows = gather(conv, l, tap, samples, room);
    if (rows)
      DP_TRY(dp_primitive_sgemm(true, false, m, c, rows, 1, room + l->y_rows, l->y_row, room + l->x_rows, l->x_row,
                                first ? 0 : 1, to, c, threads));
    else if (first)
      memset(to, 0, (size_t)(m * c) * sizeof *to);
  }
  return DP_OK;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)part, (void)parts;
  const dp_vector_transpose transpose = *(const dp_vector_transpose *)state;
  dp_conv conv;
  DP_TRY(conv_of(spec, &conv));
  const dp_window *w = &conv.window;
  const int64_t results = dp_local_count(&spec->outputs[0].local);
  if (!results || !conv.samples || !w->y_plane) {
    if (results) memset(out[0], 0, (size_t)results * sizeof(float));
    return DP_OK;
  }
  int64_t floats;
  const layout l = lay_out(&conv, &floats);
  const int64_t x_sample = conv.x_channels * w->x_plane, y_sample = conv.y_channels * w->y_plane;
  float *room = scratch;
  for (int64_t at = 0; at < conv.samples; at += l.samples) {
    const int64_t samples = dp_min_i64(l.samples, conv.samples - at);
    for (int64_t n = 0; n < samples; n++) {
      transpose(conv.x_channels, w->x_plane, (const float *)in[0] + (at + n) * x_sample, w->x_plane,
                room + l.x + n * x_sample, conv.x_channels);
      transpose(conv.y_channels, w->y_plane, (const float *)in[1] + (at + n) * y_sample, w->y_plane,
                room + l.dy + n * y_sample, conv.y_channels);
    }
    DP_TRY(multiply(&conv, &l, samples, at == 0, room, spec->threads));
  }
  const int64_t matrix = conv.x_channels * conv.y_channels;
  transpose(w->kernel_plane, matrix, room + l.taps, matrix, out[0], w->kernel_plane);
  return DP_OK;
}

const dp_kernel dp_kernel_onednn_taps_dp_ConvGradWeight = {
    .name = "cpu.onednn_taps.dp.ConvGradWeight",
    .op = "ConvGradWeight",
    .domain = "dp",
    .priority = 11,
    .library = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .own_threads = true,
    .isa = true,
    .shares_state = true,
    .run = run,
};
